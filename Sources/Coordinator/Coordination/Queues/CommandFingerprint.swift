import CountersignCryptography

// Fingerprints of commands: they distinguish orders under the same sender and `message_id`.

extension CodeKeeper {
  /// The fingerprint to record. It is keyed for a start and a check: a plain hash would reveal a number or a code to a
  /// quick search.
  func fingerprint(of order: CommandRequest.Order) -> [UInt8] {
    Self.keyed(order, under: current) ?? order.fingerprint()
  }

  /// Whether the recorded fingerprint belongs to the same order, under either pepper and in any version. The former
  /// fingerprints are computed only if the present one differs: the first delivery of a message needs none of them.
  func isSame(_ request: CommandRequest, as recorded: [UInt8]) -> Bool {
    recorded == request.fingerprint || formerFingerprints(of: request.order).contains(recorded)
  }

  /// Other fingerprints under which the same order may be recorded: under the previous pepper while the configuration
  /// names it, and in the formats of earlier versions.
  private func formerFingerprints(of order: CommandRequest.Order) -> [[UInt8]] {
    var all = [order.earlierFingerprint].compactMap { $0 }
    if let previous {
      all.append(Self.keyed(order, under: previous, isFormer: true) ?? order.fingerprint(isFormer: true))
    }
    if case .start = order { all += [order.fingerprint(), order.fingerprint(isFormer: true)] }
    return all
  }

  /// - Returns: `nil` for an order without guessable content: in the others the guessable parts are keyed already.
  private static func keyed(_ order: CommandRequest.Order, under pepper: Pepper, isFormer: Bool = false) -> [UInt8]? {
    let parts: [[UInt8]]
    switch order {
    case .start: parts = []
    case .check(let check): parts = [Array(check.verificationID.utf8), Array(check.code.utf8)]
    case .status, .cancel, .verifyApp, .revoke, .operationStatus, .conversions, .liftBlock, .forget: return nil
    }
    return pepper.key.authenticate(framed("countersign message", [order.fingerprint(isFormer: isFormer)] + parts))
  }
}
