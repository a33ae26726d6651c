import FoundationEssentials

/// How a process is: what `/readyz` answers.
public struct HealthReport: Codable, Sendable, Hashable {
  /// Whether it takes work.
  public let ready: Bool
  public let checks: [Check]

  /// One part of it.
  public struct Check: Codable, Sendable, Hashable {
    public let name: String
    public let ok: Bool
    /// What is wrong.
    public let problem: String?
    /// What to do about it.
    public let mend: String?

    init(name: String, _ state: HealthState) {
      self.name = name
      switch state {
      case .ok: (ok, problem, mend) = (true, nil, nil)
      case .failing(let what, let mend): (ok, problem, self.mend) = (false, what, mend)
      }
    }
  }

  init(checks: [Check]) {
    self.checks = checks
    ready = checks.allSatisfy(\.ok)
  }

  /// The report as JSON.
  func json() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(self))
  }
}
