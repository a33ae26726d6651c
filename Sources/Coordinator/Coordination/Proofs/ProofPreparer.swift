import CountersignCryptography
import CountersignMessages
import CountersignTelemetry

/// Parses proofs and checks them against the configuration. Does no I/O.
struct ProofPreparer: Sendable {
  private let keeper: ProofKeeper
  private let keys: KeyRing

  init(keeper: ProofKeeper, keys: KeyRing) {
    self.keeper = keeper
    self.keys = keys
  }

  /// - Returns: `nil` when there is nothing to judge: the service vouches for its client.
  /// - Throws: the error for the requester.
  func order(_ command: StartVerification, _ app: AppProfile, _ envelope: Envelope) throws(APIError) -> ProofOrder? {
    let evidence: ProofOrder.Evidence
    if let proof = command.proof {
      evidence = try read(proof, command, app, envelope)
    } else {
      evidence = .none
    }
    switch (app.verification, evidence) {
    case (.trusted, .none), (.off, _): return nil
    case (.audit, _): return ProofOrder(isBinding: false, evidence: evidence)
    case (.push, .none), (.recaptcha, .none): throw .missingProof
    case (.recaptcha, .pair), (.recaptcha, .half): throw .pushNotOffered
    case (.trusted, _), (.push, _), (.recaptcha, _): return ProofOrder(isBinding: true, evidence: evidence)
    }
  }

  private func read(
    _ proof: StartVerification.Proof, _ command: StartVerification, _ app: AppProfile, _ envelope: Envelope
  ) throws(APIError) -> ProofOrder.Evidence {
    let receipt = proof.receipt.flatMap { $0.isEmpty ? nil : $0 }
    let context = SealContext(
      messageType: StartVerification.type, messageID: envelope.messageID, recipient: app.id)
    if let token = try open(proof.recaptchaToken, context, "proof.recaptchaToken") {
      return .captcha(
        CaptchaEvidence(
          token: token, hash: keeper.hash(captchaToken: token, app: app.id), client: command.client, receipt: receipt,
          action: try CommandFields.recaptchaAction(of: proof)))
    }
    switch (receipt, try open(proof.secret, context, "proof.secret")) {
    case (let receipt?, let secret?): return .pair(receipt: receipt, secret: secret)
    case (nil, nil): return .none
    case (let receipt, nil), (let receipt, _?): return .half(receipt: receipt)
    }
  }

  /// - Returns: `nil` for a field that is absent or empty.
  private func open(
    _ field: SecretField?, _ context: SealContext, _ name: String
  ) throws(APIError) -> Secret? {
    guard let field else { return nil }
    let secret: Secret
    do {
      secret = try field.open(with: keys, for: context)
    } catch {
      throw APIError(.invalidArgument, "\(name) \(error)", field: name)
    }
    try TokenLimit.check(secret, field: name)
    return secret.isEmpty ? nil : secret
  }
}
