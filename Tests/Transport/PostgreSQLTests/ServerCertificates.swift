import TestSupport

struct ServerCertificates {
  let authorityFile: String
  let otherAuthorityFile: String
  let certificateFile: String
  let keyFile: String

  init(in directory: String) throws {
    authorityFile = "\(directory)/ca.pem"
    otherAuthorityFile = "\(directory)/other-ca.pem"
    certificateFile = "\(directory)/server.pem"
    keyFile = "\(directory)/server-key.pem"
    let newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    for authority in ["ca", "other-ca"] {
      try openSSL(
        [
          "req", "-x509", "-days", "2", "-subj", "/CN=\(authority)", "-out", "\(directory)/\(authority).pem", "-keyout",
          "\(directory)/\(authority)-key.pem",
        ] + newKey)
    }
    try openSSL(
      [
        "req", "-new", "-subj", "/CN=server", "-addext", "subjectAltName=DNS:localhost", "-out",
        "\(directory)/server.csr", "-keyout", keyFile,
      ] + newKey)
    try openSSL(
      [
        "x509", "-req", "-days", "2", "-in", "\(directory)/server.csr", "-CA", authorityFile, "-CAkey",
        "\(directory)/ca-key.pem", "-CAcreateserial", "-copy_extensions", "copy", "-out", certificateFile,
      ])
  }

  private func openSSL(_ arguments: [String]) throws {
    try PrivatePostgreSQL.execute(["/usr/bin/openssl"] + arguments)
  }
}
