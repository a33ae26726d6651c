import FoundationEssentials

/// State of a process: the answer of `/readyz`.
public struct HealthReport: Codable, Sendable, Hashable {
  /// Whether it accepts work.
  public let ready: Bool
  public let checks: [Check]

  /// State of one part.
  public struct Check: Codable, Sendable, Hashable {
    public let name: String
    public let ok: Bool
    /// Subject of the check where it changes: the host of the broker in use.
    public let detail: String?
    /// The problem, if any.
    public let problem: String?
    /// Hint for fixing it.
    public let hint: String?

    init(name: String, _ state: HealthState, detail: String? = nil) {
      self.name = name
      self.detail = detail
      switch state {
      case .ok: (ok, problem, hint) = (true, nil, nil)
      case .failing(let what, let hint): (ok, problem, self.hint) = (false, what, hint)
      }
    }
  }

  init(checks: [Check]) {
    self.checks = checks
    ready = checks.allSatisfy(\.ok)
  }

  func json() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(self))
  }
}

/// State of one part of a process.
public enum HealthState: Sendable, Hashable {
  /// It works.
  case ok
  /// It fails.
  /// - Parameters:
  ///   - what: the problem, without secrets.
  ///   - hint: a hint for the reader; `nil` when waiting is enough.
  case failing(_ what: String, hint: String? = nil)
}
