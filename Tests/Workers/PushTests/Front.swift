import FoundationEssentials
import Glibc
import HTTPServer
import Synchronization
import TestSupport
import Testing

/// A stand-in for APNs with TLS and HTTP/2: nginx before an `HTTPServer`, for the length of a test.
struct Front: Sendable {
  struct Push: Sendable {
    let deviceToken: String
    let connection: String
    let version: String
    let headers: [String: String]
  }

  /// Offers HTTP/2, and ends each connection with GOAWAY after 100 requests.
  let url: String
  /// The same with one stream at a time on a connection.
  let narrowURL: String
  /// Asks for the client's certificate, and takes the server's own as one.
  let mutualURL: String
  let certificateFile: String
  let keyFile: String
  private let received: Received

  var pushes: [Push] { received.all }

  private final class Received: Sendable {
    private let pushes = Mutex<[Push]>([])
    var all: [Push] { pushes.withLock { $0 } }
    func append(_ push: Push) { pushes.withLock { $0.append(push) } }
  }

  static func run(
    refusing refuses: @escaping @Sendable (String) -> Bool = { _ in false }, _ body: (Front) async throws -> Void
  ) async throws {
    let received = Received()
    let server = try HTTPServer(host: "127.0.0.1", port: 0, maxBodyBytes: 65_536) { request in
      let token = String(request.path.split(separator: "/").last ?? "")
      received.append(Push(token, request))
      guard refuses(token) else { return .respond(HTTPServerResponse(status: 200)) }
      return .respond(HTTPServerResponse(status: 400, text: #"{"reason":"BadDeviceToken"}"#))
    }
    let directory = FileManager.default.temporaryDirectory.path + "/push-front-\(UInt64.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    let ports = (0..<3).map { _ in unusedPort() }
    let nginx = ["/usr/sbin/nginx", "-p", directory, "-c", "\(directory)/nginx.conf", "-e", "\(directory)/error.log"]
    try await onNewThread {
      try Nginx.makeCertificate("\(directory)/cert.pem", key: "\(directory)/key.pem", for: "DNS:localhost")
      try configuration(directory, upstream: server.port, ports)
        .write(toFile: directory + "/nginx.conf", atomically: false, encoding: .utf8)
      // Returns when the sockets are bound.
      try Nginx.execute(nginx)
    }
    let urls = ports.map { "https://localhost:\($0)" }
    let front = Front(
      url: urls[0], narrowURL: urls[1], mutualURL: urls[2], certificateFile: directory + "/cert.pem",
      keyFile: directory + "/key.pem", received: received)
    let outcome: Result<Void, any Error>
    do { outcome = .success(try await body(front)) } catch { outcome = .failure(error) }
    try await onNewThread { try Nginx.execute(nginx + ["-s", "stop"]) }
    await server.stop(grace: .zero)
    // nginx, which is still about to end, removes files of its own at the same time.
    try? FileManager.default.removeItem(atPath: directory)
    try outcome.get()
  }

  private static func configuration(_ directory: String, upstream: UInt16, _ ports: [UInt16]) -> String {
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map { "\($0)_temp_path \(directory)/\($0);" }.joined(separator: " ")
    let location = """
      location / {
        proxy_pass http://apns; proxy_http_version 1.1; proxy_set_header Connection "";
        proxy_set_header X-Connection $connection; proxy_set_header X-Version $server_protocol;
      }
      """
    return """
      worker_processes 1; pid \(directory)/nginx.pid;
      events { worker_connections 1024; }
      http {
        access_log off; \(temporary)
        ssl_certificate \(directory)/cert.pem; ssl_certificate_key \(directory)/key.pem;
        upstream apns { server 127.0.0.1:\(upstream); keepalive 64; }
        server { listen 127.0.0.1:\(ports[0]) ssl http2; keepalive_requests 100; \(location) }
        server { listen 127.0.0.1:\(ports[1]) ssl http2; http2_max_concurrent_streams 1; \(location) }
        server {
          listen 127.0.0.1:\(ports[2]) ssl http2; ssl_verify_client on; ssl_client_certificate \(directory)/cert.pem;
          \(location)
        }
      }
      """
  }
}

extension Front.Push {
  fileprivate init(_ token: String, _ request: HTTPServerRequest) {
    deviceToken = token
    connection = request.headers["X-Connection"] ?? ""
    version = request.headers["X-Version"] ?? ""
    let names = ["apns-topic", "apns-push-type", "apns-priority", "apns-id", "authorization"]
    headers = Dictionary(uniqueKeysWithValues: names.compactMap { name in request.headers[name].map { (name, $0) } })
  }
}
