import CountersignTelemetry
import TestSupport

@testable import Push

extension Sample {
  static let accountEmail = "push@my-project.iam.gserviceaccount.com"
  static let accountKeyID = "0123456789abcdef0123456789abcdef01234567"
  static let tokenURI = "https://oauth2.googleapis.com/token"

  static let rsaKeyFile = SampleKeys.rsa

  /// The file of a service account's key as Google hands it out. Nil leaves a member out.
  static func accountFile(_ changes: [String: String?] = [:]) -> String {
    let members: [(name: String, value: String)] = [
      ("type", "service_account"), ("project_id", "my-project"), ("private_key_id", accountKeyID),
      ("private_key", rsaKeyFile + "\n"), ("client_email", accountEmail), ("client_id", "104727004242420010001"),
      ("auth_uri", "https://accounts.google.com/o/oauth2/auth"), ("token_uri", tokenURI),
      ("universe_domain", "googleapis.com"),
    ]
    let texts = members.compactMap { member -> String? in
      guard let value = changes[member.name] ?? member.value else { return nil }
      return "\"\(member.name)\": \"\(value.replacing("\n", with: "\\n"))\""
    }
    return "{\n  \(texts.joined(separator: ",\n  "))\n}"
  }

  static func account() throws(ServiceAccountProblem) -> ServiceAccount {
    try ServiceAccount(file: Secret(accountFile()))
  }
}
