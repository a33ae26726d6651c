import Telemetry

extension LimitBook {
  /// Counts a receipt for a device, and for the address that asks.
  func admitReceipt<Store: UsageStore>(
    ofToken hash: [UInt8], from address: ClientAddress?, at now: UnixTime, in store: inout Store
  ) throws(Store.Failure) -> LimitRefusal? {
    let device = Check(
      scope: .deviceToken, subject: "t\(Self.hexadecimal(hash.prefix(Self.subjectBytes)))",
      rule: LimitRule(sliding: .proofs, limit: limits.receiptsPerDevicePerHour, window: .seconds(3600)))
    return try admit([device] + proofs(from: address), at: now, in: &store)
  }

  /// Counts the assessment of a reCAPTCHA token for the address that asks.
  func admitAssessment<Store: UsageStore>(
    from address: ClientAddress?, at now: UnixTime, in store: inout Store
  ) throws(Store.Failure) -> LimitRefusal? {
    try admit(proofs(from: address), at: now, in: &store)
  }

  /// The limit that a message would run into, which is not counted: nothing is spent on a request that will be refused.
  func refusal<Store: UsageStore>(
    of send: LimitedSend, at now: UnixTime, in store: inout Store
  ) throws(Store.Failure) -> LimitRefusal? {
    for check in checks(of: send) {
      if let wait = try store.usage(of: check.subject).window(check.rule).wait(at: now, check.rule) {
        return LimitRefusal(scope: check.scope, limit: check.rule.limit, wait: wait)
      }
    }
    return nil
  }

  private func proofs(from address: ClientAddress?) -> [Check] {
    guard let address else { return [] }
    let rule = LimitRule(sliding: .proofs, limit: limits.proofsPerAddressPerHour, window: .seconds(3600))
    return [Check(scope: .addressProofs, subject: "a\(address.network)", rule: rule)]
  }

  /// Bytes of a hash that a count is kept under.
  private static let subjectBytes = 16

  private static func hexadecimal(_ bytes: some Collection<UInt8>) -> String {
    bytes.reduce(into: "") { text, byte in
      text += byte < 16 ? "0" + String(byte, radix: 16) : String(byte, radix: 16)
    }
  }
}
