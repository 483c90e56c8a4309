/* SPDX-License-Identifier: Apache-2.0 */
/* Cap'n Proto, RPC over a Unix socket. */
#include <capnp/ez-rpc.h>
#include <cerrno>
#include <cstring>
#include <string>

#include "echo.capnp.h"
#include "tests/bench/peers/peer.h"

namespace
{

class EchoServer final : public Echo::Server
{
  protected:
    kj::Promise<void> echo(EchoContext context) override
    {
        context.getResults().setData(context.getParams().getData());
        return kj::READY_NOW;
    }
};

kj::Own<capnp::EzRpcClient> connection;
kj::Own<Echo::Client> remote;

std::string url_of(const char *address)
{
    return std::string("unix:") + address;
}

int serve(const char *address)
{
    capnp::EzRpcServer server(kj::heap<EchoServer>(), url_of(address));
    kj::WaitScope &scope = server.getWaitScope();

    server.getPort().wait(scope);
    peer_ready();
    kj::NEVER_DONE.wait(scope);
}

int open_client(const char *address)
{
    connection = kj::heap<capnp::EzRpcClient>(url_of(address));
    remote = kj::heap<Echo::Client>(connection->getMain<Echo>());
    return 0;
}

int once(void *)
{
    static const kj::byte data[PEER_SIZE] = {1};
    auto request = remote->echoRequest();

    request.setData(kj::arrayPtr(data, sizeof data));
    auto response = request.send().wait(connection->getWaitScope());
    auto back = response.getData();
    return back.size() == PEER_SIZE && back[0] == 1 ? 0 : -EIO;
}

void close_client()
{
    remote = nullptr;
    connection = nullptr;
}

const struct peer capnproto = {false, false, serve, open_client, once, close_client};

} // namespace

int main(int argc, char **argv)
{
    return peer_main(argc, argv, &capnproto);
}
