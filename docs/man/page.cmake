# SPDX-License-Identifier: Apache-2.0
# Makes one man page: cmake -DSOURCE= -DOUTPUT= -DSCDOC= -DPROGRAM= -P page.cmake
cmake_minimum_required(VERSION 3.25)
get_filename_component(page ${SOURCE} NAME_WLE)
get_filename_component(folder ${OUTPUT} DIRECTORY)
if(page STREQUAL rapahub.1)
  set(table global)
elseif(page STREQUAL rapahub-errors.7)
  set(table errors)
else()
  string(REGEX REPLACE "^rapahub-(.*)\\.[15]$" "\\1" table ${page})
endif()

file(READ ${SOURCE} text)
if(text MATCHES "@TABLE@")
  execute_process(COMMAND ${PROGRAM} __manual ${table} OUTPUT_VARIABLE generated
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "@TABLE@" "${generated}" text "${text}")
endif()
file(MAKE_DIRECTORY ${folder})
file(WRITE ${OUTPUT}.scd "${text}")
execute_process(COMMAND ${SCDOC} INPUT_FILE ${OUTPUT}.scd OUTPUT_FILE ${OUTPUT} COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE ${OUTPUT}.scd)
