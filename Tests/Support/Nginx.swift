import Glibc

/// nginx with TLS and HTTP/2, and a certificate made for it, for the length of a test.
package struct Nginx {
  /// Reason that a test cannot have its server.
  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  /// A PEM file with the certificate, which signs itself.
  package let certificateFile: String
  /// Offers HTTP/2 and HTTP/1.1.
  package let http2URL: String
  /// Offers HTTP/1.1 only.
  package let http1URL: String
  /// Asks for the client's certificate, and takes the server's own as one.
  package let mutualURL: String
  package let keyFile: String
  /// A certificate for another name, and a server that shows it.
  package let otherCertificateFile: String
  package let otherURL: String

  /// Runs nginx for the length of `body`. Needs the packages nginx-light and openssl.
  package static func run(_ body: (Nginx) async throws -> Void) async throws {
    let directory = try makeDirectory()
    defer { unlinkTree(directory) }
    let ports = (0..<4).map { _ in unusedPort() }
    let nginx = ["/usr/sbin/nginx", "-p", directory, "-c", "\(directory)/nginx.conf", "-e", "\(directory)/error.log"]
    try await onNewThread {
      try makeCertificate("\(directory)/cert.pem", key: "\(directory)/key.pem", for: "DNS:localhost,IP:127.0.0.1")
      try makeCertificate("\(directory)/other.pem", key: "\(directory)/other-key.pem", for: "DNS:other.example")
      try write(configuration(directory, ports), to: "\(directory)/nginx.conf")
      // Returns when the sockets are bound.
      try execute(nginx)
    }
    let server = Nginx(
      certificateFile: "\(directory)/cert.pem", http2URL: "https://127.0.0.1:\(ports[0])/",
      http1URL: "https://127.0.0.1:\(ports[1])/", mutualURL: "https://127.0.0.1:\(ports[2])/",
      keyFile: "\(directory)/key.pem", otherCertificateFile: "\(directory)/other.pem",
      otherURL: "https://127.0.0.1:\(ports[3])/")
    let result: Result<Void, any Error>
    do { result = .success(try await body(server)) } catch { result = .failure(error) }
    try await onNewThread { try execute(nginx + ["-s", "stop"]) }
    try result.get()
  }

  private static func configuration(_ directory: String, _ ports: [UInt16]) -> String {
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map { "\($0)_temp_path \(directory)/\($0);" }.joined(separator: " ")
    let certificate = "ssl_certificate \(directory)/cert.pem; ssl_certificate_key \(directory)/key.pem;"
    let answer = """
      location / { return 200 "$server_protocol"; } location /echo { return 200 "$http_x_number"; }
      location /once { keepalive_timeout 0; return 200 "$server_protocol"; }
      """
    return """
      worker_processes 1; pid \(directory)/nginx.pid;
      events { worker_connections 512; }
      http {
        access_log off; \(temporary) \(certificate)
        server { listen 127.0.0.1:\(ports[0]) ssl http2; keepalive_requests 100; \(answer) }
        server { listen 127.0.0.1:\(ports[1]) ssl; \(answer) }
        server {
          listen 127.0.0.1:\(ports[2]) ssl; ssl_verify_client on; ssl_client_certificate \(directory)/cert.pem; \(answer)
        }
        server {
          listen 127.0.0.1:\(ports[3]) ssl; \(answer)
          ssl_certificate \(directory)/other.pem; ssl_certificate_key \(directory)/other-key.pem;
        }
      }
      """
  }

  /// Makes a certificate that signs itself, for names as `openssl` writes them.
  package static func makeCertificate(_ file: String, key: String, for names: String) throws {
    try execute([
      "/usr/bin/openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
      "-keyout", key, "-out", file, "-days", "2", "-subj", "/CN=\(names.split(separator: ",")[0])", "-addext",
      "subjectAltName=\(names)",
    ])
  }

  /// The authorities of this system, and the one of these tests.
  package var systemAndOwnFile: String {
    get throws {
      let file = certificateFile + ".bundle"
      try Self.write(
        try Self.read("/etc/ssl/certs/ca-certificates.crt") + (try Self.read(certificateFile)), to: file)
      return file
    }
  }

  /// A directory with the certificate, under the name by which OpenSSL looks for it.
  package func directoryOfAuthorities() throws -> String {
    let directory = certificateFile + ".d"
    guard mkdir(directory, 0o700) == 0 else { throw Failure(description: "cannot make \(directory)") }
    try Self.write(try Self.read(certificateFile), to: "\(directory)/cert.pem")
    try Self.execute(["/usr/bin/openssl", "rehash", directory])
    return directory
  }

  private static func makeDirectory() throws -> String {
    var template = Array("/tmp/countersign-nginx-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Failure(description: "cannot make a directory in /tmp") }
    return template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
  }

  private static func unlinkTree(_ directory: String) {
    // What is left of a test in /tmp does no harm.
    try? execute(["/bin/rm", "-rf", "\(directory)/cert.pem.d"])
    let files = [
      "cert.pem", "cert.pem.bundle", "key.pem", "other.pem", "other-key.pem", "nginx.conf", "nginx.pid", "error.log",
    ]
    for file in files { unlink("\(directory)/\(file)") }
    for folder in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] { rmdir("\(directory)/\(folder)") }
    rmdir(directory)
  }

  private static func read(_ path: String) throws -> String {
    guard let file = fopen(path, "r") else { throw Failure(description: "cannot read \(path)") }
    defer { fclose(file) }
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { text += buffer[..<count] }
    return String(decoding: text, as: UTF8.self)
  }

  private static func write(_ text: String, to path: String) throws {
    guard let file = fopen(path, "w") else { throw Failure(description: "cannot write \(path)") }
    fputs(text, file)
    fclose(file)
  }

  /// Runs a program and waits for its end.
  package static func execute(_ arguments: [String]) throws {
    var pid: pid_t = 0
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] {
      posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
    }
    var pointers = arguments.map { strdup($0) } + [nil]
    defer { for pointer in pointers { free(pointer) } }
    let status = posix_spawn(&pid, arguments[0], &actions, nil, &pointers, environ)
    guard status == 0 else {
      throw Failure(description: "cannot start \(arguments[0]): install nginx-light and openssl")
    }
    var code: Int32 = 0
    waitpid(pid, &code, 0)
    guard code == 0 else { throw Failure(description: "\(arguments) failed") }
  }
}
