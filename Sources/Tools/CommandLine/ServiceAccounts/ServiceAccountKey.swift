import CountersignCryptography
import CountersignEncoding
import CountersignMessages

/// Key pair of a service account. The private part goes into a file and nowhere else.
struct ServiceAccountKey {
  /// Address of Google's, at which libraries ask for tokens.
  static let defaultTokenURI = "https://oauth2.googleapis.com/token"
  private static let bits = 2048

  let id: String
  private let key: SigningKey

  init() throws(CommandLineError) {
    id = Hexadecimal.encode(SecureRandom.bytes(20))
    do { key = try SigningKey.generateRSA(bits: Self.bits, id: id) } catch { throw Self.failure(error) }
  }

  /// In PEM, for accounts.
  func publicKey() throws(CommandLineError) -> String {
    do {
      return PEM.text("PUBLIC KEY", try PublicKeyFile.subjectPublicKeyInfo(ofPrivateKey: key.pkcs8()))
    } catch {
      throw Self.failure(error)
    }
  }

  /// The file that Google's libraries read: firebase-admin, google-auth.
  func file(name: String, project: String, tokenURI: String) throws(CommandLineError) -> JSONValue {
    let pem: String
    do { pem = PEM.text("PRIVATE KEY", try key.pkcs8()) } catch { throw Self.failure(error) }
    return .object([
      "type": .text("service_account"), "project_id": .text(project), "private_key_id": .text(id),
      "private_key": .text(pem), "client_email": .text(Self.email(name, project)), "client_id": .text(Self.clientID()),
      "token_uri": .text(tokenURI), "universe_domain": .text("googleapis.com"),
    ])
  }

  static func email(_ name: String, _ project: String) -> String { "\(name)@\(project).iam.gserviceaccount.com" }

  /// 21 digits, as libraries expect them.
  private static func clientID() -> String {
    "1" + SecureRandom.bytes(20).map { String($0 % 10) }.joined()
  }

  private static func failure(_ error: JOSEError) -> CommandLineError {
    CommandLineError(.internalError, error.description)
  }
}

/// Textual encoding of keys (RFC 7468).
enum PEM {
  private static let lineLength = 64

  static func text(_ label: String, _ der: [UInt8]) -> String {
    var lines = ["-----BEGIN \(label)-----"]
    var rest = Base64.encode(der)[...]
    while !rest.isEmpty {
      lines.append(String(rest.prefix(lineLength)))
      rest = rest.dropFirst(lineLength)
    }
    return (lines + ["-----END \(label)-----", ""]).joined(separator: "\n")
  }
}
