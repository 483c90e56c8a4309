/* SPDX-License-Identifier: Apache-2.0 */
/* gRPC, unary calls over a Unix socket. */
#include <cerrno>
#include <grpcpp/grpcpp.h>
#include <memory>
#include <string>

#include "echo.grpc.pb.h"
#include "tests/bench/peers/peer.h"

namespace
{

class EchoService final : public rapahub::Echo::Service
{
    grpc::Status Echo(grpc::ServerContext *, const rapahub::Payload *in,
                      rapahub::Payload *out) override
    {
        out->set_data(in->data());
        return grpc::Status::OK;
    }
};

std::unique_ptr<rapahub::Echo::Stub> remote;

std::string url_of(const char *address)
{
    return std::string("unix:") + address;
}

int serve(const char *address)
{
    EchoService service;
    grpc::ServerBuilder builder;

    builder.AddListeningPort(url_of(address), grpc::InsecureServerCredentials());
    builder.RegisterService(&service);
    auto server = builder.BuildAndStart();
    if (!server)
        return -EIO;
    peer_ready();
    server->Wait();
    return 0;
}

int open_client(const char *address)
{
    auto channel = grpc::CreateChannel(url_of(address), grpc::InsecureChannelCredentials());

    remote = rapahub::Echo::NewStub(channel);
    return 0;
}

int once(void *)
{
    static const std::string data(PEER_SIZE, '\1');
    grpc::ClientContext context;
    rapahub::Payload in, out;

    in.set_data(data);
    return remote->Echo(&context, in, &out).ok() && out.data() == data ? 0 : -EIO;
}

void close_client()
{
    remote.reset();
}

const struct peer unary = {false, false, serve, open_client, once, close_client};

} // namespace

int main(int argc, char **argv)
{
    return peer_main(argc, argv, &unary);
}
