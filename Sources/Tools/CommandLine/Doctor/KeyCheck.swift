import CountersignMessages
import ServiceRuntime

extension DoctorCheck {
  /// Each opens what the others seal.
  static let keys = DoctorCheck("keys") { facts in
    let coordinators = facts.reports { $0 == Topology.Users.coordinator }
    let accounts = facts.reports { $0 == Topology.Users.accounts }
    return facts.reports().flatMap { process, report in
      let others = (coordinators + accounts).filter { $0.process.url != process.url }
      var problems: [Finding] = []
      if KeyCheck.opens(process.name) {
        problems += others.compactMap { KeyCheck.opening(process, report, sealedBy: $0.process, $0.report) }
      }
      if process.name == Topology.Users.gateway {
        problems += coordinators.compactMap { KeyCheck.opening($0.process, $0.report, sealedBy: process, report) }
        problems += accounts.compactMap { KeyCheck.sealing(process, report, to: $0.process, $0.report) }
      }
      if let first = problems.first { return [first] }
      guard let id = report.keys.seals ?? report.keys.opens.first, !coordinators.isEmpty else { return [] }
      return [Finding("keys of \(process.place)", .ok, "they fit those of the others (\(id))")]
    }
  }

  /// Those that go by the same name in several processes.
  static let secrets = DoctorCheck("secrets") { facts in
    var first: [String: (process: ProcessFacts, check: CheckValue)] = [:]
    let closed = facts.reports().filter { $0.report.socket != nil && $0.report.guarded == nil }.map(\.process.place)
    let skipped = closed.isEmpty ? [] : [KeyCheck.skipped(closed)]
    return skipped
      + facts.reports().flatMap { process, report -> [Finding] in
        let own = report.guarded?.checkValues ?? []
        return own.compactMap { check in
          guard let name = KeyCheck.name(check, of: process) else { return nil }
          guard let known = first[name] else {
            first[name] = (process, check)
            return nil
          }
          let former = (own + (known.process.report?.guarded?.checkValues ?? [])).filter { !$0.isUsed }.map(\.value)
          let isRotation = check.id.isEmpty && (former.contains(check.value) || former.contains(known.check.value))
          return known.check.value == check.value || isRotation
            ? nil : KeyCheck.difference(check, process, known.process)
        }
      }
  }
}

enum KeyCheck {
  private static let pepper = "pepperFile"

  /// Name under which a secret is the same wherever it is. `nil` for a pepper before the last change.
  static func name(_ check: CheckValue, of process: ProcessFacts) -> String? {
    guard check.id.isEmpty else { return "\(check.file) \(check.id)" }
    return check.isUsed ? "\(check.file) of \(process.name)" : nil
  }

  static func opens(_ process: String) -> Bool {
    // The keys of the webhook-worker are its own.
    process.hasSuffix("-worker") && process != Topology.Users.webhookWorker
      || [Topology.Users.coordinator, Topology.Users.accounts].contains(process)
  }

  static func opening(
    _ process: ProcessFacts, _ report: RuntimeReport, sealedBy other: ProcessFacts, _ sealer: RuntimeReport
  ) -> Finding? {
    // Only the mail-worker gets jobs from accounts.
    if other.name == Topology.Users.accounts, process.name.hasSuffix("-worker"), process.name != "mail-worker" {
      return nil
    }
    guard let id = sealer.keys.seals, !report.keys.opens.contains(id) else { return nil }
    let own = report.keys.opens.isEmpty ? "no key" : report.keys.opens.joined(separator: ", ")
    return Finding(
      "keys of \(process.place)", .failed,
      "\(other.place) seals with the key \(id), and it runs with \(own): what is sealed for it cannot be opened",
      hint:
        "give its \(process.path("keysFile")) the key of \(other.name)'s \(other.path("keysFile")), and start it again; then countersign dead redrive",
      about: .keys(process.name))
  }

  static func sealing(
    _ gateway: ProcessFacts, _ report: RuntimeReport, to accounts: ProcessFacts, _ owner: RuntimeReport
  ) -> Finding? {
    guard let id = report.keys.sealsTo, let pairs = owner.keys.pairs, !pairs.contains(id) else { return nil }
    return Finding(
      "keys of \(gateway.place)", .failed,
      "it seals to the key \(id), which \(accounts.place) does not have: sign-in fails",
      hint:
        "countersign keys public ACCOUNTS_FILE > the gateway's \(gateway.path("accountsKeysFile")), and start the gateway again",
      about: .keys(gateway.name))
  }

  /// Processes whose sockets this user may not open.
  static func skipped(_ places: [String]) -> Finding {
    Finding(
      "secrets", .skipped, "paths and check values were not compared of \(places.joined(separator: ", "))",
      hint: "now and then, run countersign doctor as root on their host")
  }

  static func difference(_ check: CheckValue, _ process: ProcessFacts, _ other: ProcessFacts) -> Finding {
    let (own, others) = (process.path(check.file), other.path(check.file))
    guard !check.id.isEmpty || check.file == pepper else {
      return Finding(
        "\(check.file) of \(process.place)", .failed, "its content differs from that of \(other.place)",
        hint: "give both the same: \(own); \(others) of \(other.name)")
    }
    return Finding(
      check.id.isEmpty ? "pepper of \(process.place)" : "key \(check.id) of \(process.place)", .failed,
      "it differs from that of \(other.place)" + (check.id.isEmpty ? "" : ", under the same name"),
      hint: check.id.isEmpty
        ? "give both the same pepperFile, or name the former one as previousPepperFile: codes fail at one of them"
        : "give both the same key: \(own); \(others) of \(other.name)",
      about: .keys(process.name))
  }
}
