import CountersignCryptography

// Fingerprints of commands: they tell one order from another under the same sender and `message_id`.

extension CodeKeeper {
  /// The fingerprint that is recorded. Of a start and a check it is keyed: a number and a code are guessed in no time from a hash that
  /// anybody can compute.
  func fingerprint(of order: CommandRequest.Order) -> [UInt8] {
    Self.keyed(order, under: current) ?? order.fingerprint()
  }

  /// Whether the recorded fingerprint is of the same command, under whichever pepper and by whichever version. The former fingerprints are
  /// computed only where the present one differs from the record: a message that comes for the first time needs none of them.
  func isSame(_ request: CommandRequest, as recorded: [UInt8]) -> Bool {
    recorded == request.fingerprint || formerFingerprints(of: request.order).contains(recorded)
  }

  /// The fingerprints under which the same order may have been recorded before: in the hour in which the configuration names the pepper of
  /// before, under that; and as versions before this one made them.
  private func formerFingerprints(of order: CommandRequest.Order) -> [[UInt8]] {
    var all = [order.earlierFingerprint].compactMap { $0 }
    if let previous {
      all.append(Self.keyed(order, under: previous, isFormer: true) ?? order.fingerprint(isFormer: true))
    }
    if case .start = order { all += [order.fingerprint(), order.fingerprint(isFormer: true)] }
    return all
  }

  /// - Returns: `nil` for an order in which nothing has to be hidden: what is guessable in others is keyed already.
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
