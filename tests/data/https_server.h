#pragma once

// A local https server that answers as a test tells it, also against the protocol.

#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "data/files.h"

namespace mgcompare {

class HttpsServer {
 public:
  // One request of a client. send() returns false once the client has closed the connection.
  class Client {
   public:
    Client(SSL* ssl, int socket, const std::atomic<bool>& stopped) : ssl_(ssl), socket_(socket), stopped_(stopped) {}
    bool send(std::string_view bytes) {
      return !stopped_ && (bytes.empty() || SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())) > 0);
    }
    void wait_until_it_leaves() {
      pollfd event{socket_, POLLIN, 0};
      while (!stopped_ && poll(&event, 1, 20) == 0) {
      }
    }

   private:
    SSL* ssl_;
    int socket_;
    const std::atomic<bool>& stopped_;
  };
  using Answer = std::function<void(Client& client, const std::string& path)>;

  // Makes a certificate in the folder. Is not ready() if there is no `openssl`.
  HttpsServer(const Folder& folder, Answer answer) : certificate_(folder.path("certificate.pem")), answer_(std::move(answer)) {
    std::signal(SIGPIPE, SIG_IGN);  // clients close connections early
    const std::string make = "cd '" + folder.path() +
                             "' && openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out certificate.pem "
                             "-days 2 -subj /CN=mirror -addext subjectAltName=IP:127.0.0.1 >/dev/null 2>&1";
    if (std::system(make.c_str()) != 0) return;
    context_.reset(SSL_CTX_new(TLS_server_method()));
    if (SSL_CTX_use_certificate_file(context_.get(), certificate_.c_str(), SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_use_PrivateKey_file(context_.get(), folder.path("key.pem").c_str(), SSL_FILETYPE_PEM) != 1)
      return;
    socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    if (bind(socket_, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(socket_, 8) != 0 ||
        getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
      return;
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~HttpsServer() {
    stopped_ = true;
    if (thread_.joinable()) thread_.join();
    if (socket_ >= 0) close(socket_);
  }
  HttpsServer(const HttpsServer&) = delete;
  HttpsServer& operator=(const HttpsServer&) = delete;

  bool ready() const { return port_ != 0; }
  std::string address(const std::string& folder) const { return "https://127.0.0.1:" + std::to_string(port_) + "/" + folder + "/"; }
  const std::string& certificate() const { return certificate_; }

 private:
  void serve() {
    pollfd event{socket_, POLLIN, 0};
    while (!stopped_) {
      if (poll(&event, 1, 20) <= 0) continue;
      const int connection = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) continue;
      const timeval patience{5, 0};
      setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
      setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
      const std::unique_ptr<SSL, void (*)(SSL*)> ssl(SSL_new(context_.get()), SSL_free);
      SSL_set_fd(ssl.get(), connection);
      if (SSL_accept(ssl.get()) == 1) answer(ssl.get(), connection);
      SSL_shutdown(ssl.get());
      ERR_clear_error();
      close(connection);
    }
  }

  void answer(SSL* ssl, int connection) {
    std::string request(4096, '\0');
    const int count = SSL_read(ssl, request.data(), static_cast<int>(request.size()));
    if (count <= 0) return;
    const std::size_t begin = request.find(' ') + 1;
    Client client(ssl, connection, stopped_);
    answer_(client, request.substr(begin, request.find(' ', begin) - begin));
  }

  std::string certificate_;
  Answer answer_;
  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_{nullptr, SSL_CTX_free};
  int socket_ = -1;
  int port_ = 0;
  std::atomic<bool> stopped_{false};
  std::thread thread_;
};

}  // namespace mgcompare
