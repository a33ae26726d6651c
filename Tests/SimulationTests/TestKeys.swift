import FoundationEssentials
import JOSE
import Telemetry
import Testing

/// Keys made for these tests.
enum TestKeys {
  static let first = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgEjSl8c6yRRS0oJDi
    h1lZwTZA5NJZ5NYU+REHSfVNVf2hRANCAAR1vbteLvxlEpYn9/z3C3u2mL8pOsGb
    sh8rmZghQickqJp+tgzqo5LDh6hU5bIJz5rWWF2qRbig7fgCkoQy+Red
    -----END PRIVATE KEY-----
    """
  static let second = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgN23lxZ8BPARcfz8l
    5u7AZAR8Gg/y4uqCd6d73TDGyuGhRANCAAR8O6wrCjxUT+qhUdM0ODhohs/4lmoo
    Pg5tW8eFOK66KwSPgaTTIz8ANYG1vAmjLAdNt9x7h9EfBsZ6x8j7AYiL
    -----END PRIVATE KEY-----
    """

  /// A signed token of those claims.
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
