import CountersignCryptography
import CountersignTelemetry
import ServiceRuntime

/// By what Apple knows who pushes: a team's key, or a certificate of the app.
enum CredentialSettings: Sendable {
  case key(TeamKey)
  case certificate(Certificate)
  /// Reported.
  case invalid

  struct TeamKey: Sendable {
    let teamID: String
    let keyID: String
    let key: SigningKey
    /// The file's text, to tell whether two apps name the same key.
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
      section.problem(missing, "is required beside the other one of the pair: give both or none")
      self = .invalid
    }
  }

  private static func key(_ section: ConfigurationSection) -> CredentialSettings {
    let teamID = section.string("teamID", "The team's ID of ten characters, as the developer pages show it.")
    let keyID = section.string("keyID", "The key's ID of ten characters, as the developer pages show it.")
    let text = section.requiredSecretFile("keyFile", "The key (.p8), as the developer pages hand it out once.")
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
