import CountersignCryptography
import CountersignTelemetry
import JobEngine
import ServiceRuntime

struct AppleProvider: LaneProvider {
  static let typeName = "apple"

  /// Bundle ID of an app, or a Services ID.
  let clientID: String
  let apps: [String]
  let baseURL: String
  let teamID: String
  /// `nil` for a key with a problem, which was reported.
  let key: SigningKey?

  var clients: [RevocationClient] { apps.map { RevocationClient(app: $0, clientID: clientID) } }

  init(_ section: ConfigurationSection) {
    clientID = section.string("clientID", "The client Apple gave the tokens to: the app's bundle ID, or a Services ID.")
    apps = section.strings(
      "apps", default: [clientID], "The apps (`app` of a job) that it serves; the client itself if absent.")
    baseURL = section.baseURL(default: "https://appleid.apple.com", "Address of Apple ID, without the path of the API.")
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

  func makeLane(_ context: LaneContext) throws(WorkerError) -> AppleLane {
    guard let key else {
      throw WorkerError(.invalidConfiguration, "lane \(context.name): keyFile holds no usable key")
    }
    return AppleLane(
      context, clientID: clientID, baseURL: baseURL,
      secret: ClientSecret(teamID: teamID, clientID: clientID, key: key))
  }

  private static func key(_ section: ConfigurationSection, _ id: String) -> SigningKey? {
    let text = section.requiredSecretFile(
      "keyFile", "The team's key for Sign in with Apple, as Apple gives it: AuthKey_….p8.")
    guard !text.isEmpty else { return nil }
    do {
      let key = try SigningKey(file: Array(text.reveal().utf8), id: id)
      section.check("keyFile", key.algorithm == .es256, "must be a P-256 key: Apple accepts ES256 only")
      return key
    } catch {
      section.problem("keyFile", "holds no usable key: \(error.message)")
      return nil
    }
  }

  private static func isClient(_ text: String) -> Bool {
    text.isEmpty || text.isMatched(by: { $0.isLetterOrDigit || $0 == "." || $0 == "-" }, length: 1...maxClientLength)
  }

  private static let maxClientLength = 155
}
