# SPDX-License-Identifier: Apache-2.0
# rapahub_add_chimod(NAME SOURCES file... [LINKS library...]): a plugin, NAME.so.
function(rapahub_add_chimod name)
  cmake_parse_arguments(CHIMOD "" "" "SOURCES;LINKS" ${ARGN})
  add_library(${name} MODULE ${CHIMOD_SOURCES})
  set_target_properties(${name} PROPERTIES PREFIX "" C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden
    SKIP_BUILD_RPATH ON INSTALL_RPATH "")
  target_link_libraries(${name} PRIVATE rapahub::guest ${CHIMOD_LINKS})
  target_link_options(${name} PRIVATE -Wl,-z,defs,-z,relro,-z,now,-z,noexecstack)
endfunction()
