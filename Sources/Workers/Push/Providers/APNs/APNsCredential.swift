import CountersignCryptography
import CountersignTelemetry
import ServiceRuntime

enum APNsCredential: Sendable {
  case key(TeamKey)
  case certificate(Certificate)
  case invalid

  struct TeamKey: Sendable {
    let teamID: String
    let keyID: String
    let key: SigningKey
    /// Text of the file, to compare keys that two apps name alike.
    let text: Secret
  }

  struct Certificate: Sendable, Hashable {
    let certificateFile: String
    let keyFile: String
  }

  init(_ section: ConfigurationSection) {
    let certificateFile = section.path("certificateFile", "A certificate of the app (PEM), in the place of a key.")
    let certificateKey = section.path("certificateKeyFile", "The key of the certificate (PEM).")
    switch (certificateFile, certificateKey) {
    case (nil, nil): self = Self.key(section)
    case (let file?, let key?): self = .certificate(Certificate(certificateFile: file, keyFile: key))
    case (_?, nil), (nil, _?):
      let missing = certificateFile == nil ? "certificateFile" : "certificateKeyFile"
      section.problem(missing, "is required together with the other one of the pair: give both or neither")
      self = .invalid
    }
  }

  private static func key(_ section: ConfigurationSection) -> APNsCredential {
    let teamID = section.string("teamID", "The team's ID of ten characters, as the developer pages show it.")
    let keyID = section.string("keyID", "The key's ID of ten characters, as the developer pages show it.")
    let text = section.requiredSecretFile("keyFile", "The key (.p8), which the developer pages hand out once.")
    for (name, id) in [("teamID", teamID), ("keyID", keyID)] where !id.isEmpty {
      section.check(name, id.isMatched(by: \.isLetterOrDigit, length: 1...32), "must be letters and digits")
    }
    guard !text.isEmpty else { return .invalid }
    do {
      let key = try SigningKey(file: Array(text.reveal().utf8), id: keyID)
      section.check("keyFile", key.algorithm == .es256, "holds a key that is not on the curve P-256")
      return .key(TeamKey(teamID: teamID, keyID: keyID, key: key, text: text))
    } catch {
      section.problem("keyFile", "holds no usable key: \(error.message)")
      return .invalid
    }
  }
}

struct PushSettings: Sendable {
  let credential: APNsCredential
  let topic: String
  let payload: PushPayload

  init(_ section: ConfigurationSection, bundleID: String) {
    credential = APNsCredential(section)
    topic = section.string("topic", default: bundleID, "Apple's name of the app; the bundle ID.")
    section.check("topic", Self.isHeaderText(topic), "must be visible ASCII characters")
    let key = section.string(
      "payloadKey", default: PushPayload.defaultKey,
      "The key of receipt and secret in the push, by which the app's SDK finds them.")
    section.check("payloadKey", !key.isEmpty && key != "aps", "must not be empty, nor \"aps\", which is Apple's")
    payload = PushPayload(
      key: key,
      form: section.word(
        "payloadForm", default: .object,
        "object: receipt and secret stand under the key; string: their JSON does, as text."))
  }

  private static func isHeaderText(_ text: String) -> Bool {
    (1...255).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }
}
