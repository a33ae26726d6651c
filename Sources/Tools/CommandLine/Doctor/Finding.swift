struct Finding: Sendable, Hashable, Codable {
  enum Status: String, Sendable, Hashable, Codable {
    /// It does not work.
    case failed
    /// It does not work because something else does not, which ``cause`` names.
    case follows
    /// It works, but may stop soon.
    case warning
    case note
    /// Not checked, because something the check needs is missing.
    case skipped
    case ok
  }

  let check: String
  private(set) var status: Status
  let detail: String
  let hint: String?
  /// Check whose failure it follows from.
  private(set) var cause: String?
  private(set) var part: Part?
  /// Parts that explain it: if one of each set has failed, it follows from the first of them.
  private(set) var needs: [Set<Part>] = []

  init(
    _ check: String, _ status: Status, _ detail: String, hint: String? = nil, about part: Part? = nil,
    needs: [Set<Part>] = []
  ) {
    (self.check, self.status, self.detail, self.hint) = (check, status, detail, hint)
    (self.part, self.needs) = (part, needs)
  }

  private enum CodingKeys: String, CodingKey {
    case check, status, detail, hint, cause
  }

  enum Part: Sendable, Hashable {
    case broker
    case topology
    case settings(String)
    case keys(String)
    /// A process, under the name of its executable.
    case process(String)
    /// Database or ledger of a process.
    case database(String)
    /// Certificate of a server, by its address.
    case certificate(String)
    /// Host of a provider, as a URL.
    case provider(String)
    case lanes(String)
  }
}

extension Finding {
  /// Puts each failure before what follows from it, and all failures before the rest.
  static func ordered(_ findings: [Finding]) -> [Finding] {
    var causes: [Part: String] = [:]
    var judged: [Finding] = []
    for finding in findings {
      var finding = finding
      if [.failed, .warning].contains(finding.status), let cause = finding.cause(among: causes) {
        (finding.status, finding.cause) = (.follows, cause)
      }
      if let part = finding.part, finding.status == .failed || finding.status == .follows, causes[part] == nil {
        causes[part] = finding.cause ?? finding.check
      }
      judged.append(finding)
    }
    let failures = judged.filter { $0.status == .failed }
    var told: Set<String> = []
    let first = failures.flatMap { failure in
      // Two failures of one name have their consequences once.
      [failure] + (told.insert(failure.check).inserted ? judged.filter { $0.cause == failure.check } : [])
    }
    return first
      + [Status.warning, .note, .skipped, .ok].flatMap { status in judged.filter { $0.status == status } }
  }

  private func cause(among causes: [Part: String]) -> String? {
    let found = needs.compactMap { set in set.compactMap { causes[$0] }.min() }
    return found.count == needs.count ? found.first : nil
  }
}
