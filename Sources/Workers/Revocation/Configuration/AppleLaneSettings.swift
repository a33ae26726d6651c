import CountersignCryptography
import CountersignTelemetry
public import JobEngine
import ServiceRuntime

/// One entry of `lanes`: a client of Sign in with Apple.
public struct AppleLaneSettings: Sendable {
  /// What the engine goes by: the name, the slots, the rate, the breaker.
  public let lane: LaneConfiguration
  /// The bundle ID of an app, or a Services ID.
  public let clientID: String
  /// The apps whose jobs it serves.
  public let apps: [String]
  let baseURL: String
  /// Certificates that Apple's must come from; the system's, if nil.
  let caFile: String?
  let teamID: String
  /// Nil when it is wrong, which is reported.
  let key: SigningKey?

  /// Reads one entry. Problems are reported to the section.
  init(_ section: ConfigurationSection) {
    lane = LaneConfiguration(section)
    clientID = section.string("clientID", "Whom Apple gave the tokens to: the app's bundle ID, or a Services ID.")
    apps = section.strings(
      "apps", default: [clientID], "The apps (`app` of a job) that it serves; the client itself if absent.")
    baseURL = section.baseURL(default: "https://appleid.apple.com", "Where Apple ID is, without the path of the API.")
    caFile = section.path("caFile", "Certificates (PEM) that Apple's must come from; the system's if absent.")
    teamID = section.string("teamID", "The ID of the developer team: 10 letters and digits.")
    let keyID = section.string("keyID", "The ID of the team's key for Sign in with Apple: 10 letters and digits.")
    key = Self.key(section, keyID)
    section.check(
      "clientID", Self.isClient(clientID), "must be letters, digits, dots and hyphens, such as com.example.app")
    section.check("apps", !apps.isEmpty && apps.allSatisfy { !$0.isEmpty }, "must be the IDs of one app or more")
    for (name, id) in [("teamID", teamID), ("keyID", keyID)] where !id.isEmpty {
      section.check(name, id.isMatched(by: \.isLetterOrDigit, length: 10...10), "must be 10 letters and digits")
    }
  }

  private static func key(_ section: ConfigurationSection, _ id: String) -> SigningKey? {
    let text = section.requiredSecretFile(
      "keyFile", "The team's key for Sign in with Apple, as Apple gives it: AuthKey_….p8.")
    guard !text.isEmpty else { return nil }
    do {
      let key = try SigningKey(file: Array(text.reveal().utf8), id: id)
      section.check("keyFile", key.algorithm == .es256, "must be a P-256 key: Apple takes ES256 only")
      return key
    } catch {
      section.problem("keyFile", "holds no usable key: \(error.message)")
      return nil
    }
  }

  private static func isClient(_ text: String) -> Bool {
    text.isEmpty || text.isMatched(by: { $0.isLetterOrDigit || $0 == "." || $0 == "-" }, length: 1...maxClientLength)
  }

  /// Bundle IDs are at most 155 characters long.
  private static let maxClientLength = 155
}
