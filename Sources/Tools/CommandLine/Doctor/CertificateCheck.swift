import CountersignTelemetry

enum CertificateCheck {
  static let notice = Duration.seconds(14 * 86_400)

  struct State: Sendable, Hashable {
    /// `broker`, `gateway`, `database`.
    let server: String
    let host: String
    /// `nil` without an answer, which other checks report.
    let end: UnixTime?
  }

  static func finding(_ state: State, now: UnixTime) -> Finding? {
    guard let end = state.end else { return nil }
    let check = "certificate of the \(state.server) at \(state.host)"
    let hint = "renew it; clients refuse an expired one"
    if end <= now {
      // That of the broker is what the broker's check has failed by.
      return Finding(
        check, .failed, "has expired at \(end.rfc3339)", hint: hint, about: .certificate(state.host),
        needs: state.server == "broker" ? [[.broker]] : [])
    }
    guard end - now <= notice else { return Finding(check, .ok, "valid until \(end.rfc3339)") }
    return Finding(
      check, .warning, "ends at \(end.rfc3339), in \((end - now).components.seconds / 86_400) days", hint: hint)
  }
}
