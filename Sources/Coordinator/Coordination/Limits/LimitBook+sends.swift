import CountersignTelemetry

extension LimitBook {
  /// The limit that an SMS would exceed, without counting it: a request that will be refused spends nothing.
  func refusal<Store: UsageStore>(
    of send: LimitedSend, at now: UnixTime, in store: inout Store
  ) throws(Store.Failure) -> LimitRefusal? {
    try refusal(checks(of: send), at: now, in: &store)
  }

  func checks(of send: LimitedSend) -> [Check] {
    number(send) + prefix(send)
      + [
        Check(
          scope: .country, subject: .region(send.region),
          rule: LimitRule(daily: .sendsDay, limit: limits.budget(of: send.region))),
        Check(scope: .total, subject: .everybody, rule: LimitRule(daily: .sendsDay, limit: limits.sendsPerDay)),
      ] + asker(send)
  }

  private func number(_ send: LimitedSend) -> [Check] {
    let number = subjects.subject(.number, send.number)
    return [
      Check(
        scope: .numberShort, subject: number,
        rule: LimitRule(sliding: .sendsShort, limit: limits.sendsPerNumberPer10Minutes, window: Self.tenMinutes)),
      Check(
        scope: .numberDay, subject: number,
        rule: LimitRule(sliding: .sendsDay, limit: limits.sendsPerNumberPerDay, window: Self.day)),
    ]
  }

  private func prefix(_ send: LimitedSend) -> [Check] {
    let prefix = subjects.subject(.prefix, send.prefix)
    var checks = [
      Check(
        scope: .prefix, subject: prefix,
        rule: LimitRule(sliding: .sendsShort, limit: limits.sendsPerPrefixPer10Minutes, window: Self.tenMinutes))
    ]
    if send.isUnknownType {
      let limit = limits.sendsToUnknownTypePerPrefixPer10Minutes
      checks.append(
        Check(
          scope: .unknownType, subject: prefix,
          rule: LimitRule(sliding: .unknownType, limit: limit, window: Self.tenMinutes)))
    }
    return checks
  }

  private func asker(_ send: LimitedSend) -> [Check] {
    var checks: [Check] = []
    if let address = send.address {
      checks.append(
        Check(
          scope: .address, subject: subjects.subject(.address, address.network),
          rule: LimitRule(sliding: .sendsShort, limit: limits.sendsPerAddressPerHour, window: Self.hour)))
    }
    if let device = send.device {
      checks.append(
        Check(
          scope: .deviceSends, subject: subjects.device(device),
          rule: LimitRule(sliding: .sendsDay, limit: limits.sendsPerDevicePerDay, window: Self.day)))
    }
    return checks
  }

  static let tenMinutes = Duration.seconds(600)
  static let hour = Duration.seconds(3600)
  static let day = Duration.seconds(86_400)
}
