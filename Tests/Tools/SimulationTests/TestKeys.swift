import CountersignCryptography
import CountersignTelemetry
import FoundationEssentials
import TestSupport
import Testing

enum TestKeys {
  static let first = SampleKeys.p256
  static let second = SampleKeys.otherP256
  static let rsa = SampleKeys.rsa
  static let rsaID = "0123456789abcdef0123456789abcdef01234567"
  static let account = "push@example-project.iam.gserviceaccount.com"

  static let accountFile = """
    {"type": "service_account", "private_key_id": "\(rsaID)", "private_key": "\(rsa.replacing("\n", with: "\\n"))\\n",
     "client_email": "\(account)", "token_uri": "https://oauth2.googleapis.com/token"}
    """

  static func token(_ claims: [(String, Claim)], key: String = first, id: String? = "KEY0000001") throws -> String {
    let fields = claims.map { "\"\($0.0)\":\($0.1.json)" }.joined(separator: ",")
    return try JWS.sign(Array("{\(fields)}".utf8), with: SigningKey(file: Array(key.utf8), id: id))
  }

  enum Claim {
    case text(String)
    case time(UnixTime)

    var json: String {
      switch self {
      case .text(let text): "\"\(text)\""
      case .time(let time): String(time.seconds)
      }
    }
  }
}
