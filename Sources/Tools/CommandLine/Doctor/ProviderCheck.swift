import ServiceRuntime

extension DoctorCheck {
  static let providers = DoctorCheck("providers") { facts in
    facts.providers.map { answer in
      let isReached = facts.answered(answer.address)
      return ProviderCheck.finding(answer, isReachedByWorker: isReached)
    }
  }
}

/// Any answer will do: the check is about the connection, not about the account.
struct ProviderCheck {
  struct Address: Sendable, Hashable {
    var lanes: [String]
    /// Without path, which may hold an account.
    let base: String
    /// The system's if `nil`.
    let caFile: String?
  }

  struct Answer: Sendable {
    let address: Address
    let outcome: Result<HTTPProbeAnswer, CommandLineError>
  }

  /// Seconds within which an answer to a worker proves the connection.
  static let recently = 300

  static func finding(_ answer: Answer, isReachedByWorker: Bool) -> Finding {
    let base = answer.address.base
    let check = "provider at \(base) (\(answer.address.lanes.joined(separator: ", ")))"
    switch answer.outcome {
    case .success(let found):
      if found.status < 500 { return Finding(check, .ok, "it answers") }
      return Finding(check, .warning, "it answers \(found.status)", hint: "see the provider's status page")
    case .failure(let error):
      return Finding(
        check, isReachedByWorker ? .note : .failed,
        error.description + (isReachedByWorker ? "; but its worker reaches it" : ""),
        hint: "check the address in the configuration, DNS, the firewall and the certificates of the machine",
        about: .provider(base))
    }
  }

  /// Each once per set of trusted certificates.
  static func addresses(_ files: ConfigurationFiles) -> [Address] {
    var found: [Address] = []
    for file in files.files {
      let settings = Dictionary((file.settings ?? []).map { ($0.path, $0.value) }) { first, _ in first }
      for (path, base) in settings.sorted(by: { $0.key < $1.key })
      where path.split(separator: ".").contains("lanes") && base.hasPrefix("http") {
        let caFile = settings[path[..<(path.lastIndex(of: ".") ?? path.startIndex)] + ".caFile"]
        let lane = "\(lane(of: path, settings)) of \(file.name)"
        if let index = found.firstIndex(where: { $0.base == base && $0.caFile == caFile }) {
          if !found[index].lanes.contains(lane) { found[index].lanes.append(lane) }
        } else {
          found.append(Address(lanes: [lane], base: base, caFile: caFile))
        }
      }
    }
    return found
  }

  /// Its `name`, else its place under `lanes`.
  private static func lane(of path: String, _ settings: [String: String]) -> String {
    let keys = path.split(separator: ".")
    guard let index = keys.firstIndex(of: "lanes"), index + 1 < keys.count else { return path }
    return settings[keys[...(index + 1)].joined(separator: ".") + ".name"] ?? String(keys[index + 1])
  }
}

extension DoctorFacts {
  func answered(_ address: ProviderCheck.Address) -> Bool {
    reports().contains { process, report in
      report.lanes.contains { lane in
        address.lanes.contains("\(lane.name) of \(process.name)") && lane.isUp && lane.failures == 0
          && lane.answered.map { $0 <= ProviderCheck.recently } == true
      }
    }
  }

  /// By the URL of a worker and the name of its lane.
  var unreachable: [String: String] {
    var found: [String: String] = [:]
    for answer in providers {
      guard case .failure = answer.outcome else { continue }
      for (process, report) in reports() {
        for lane in report.lanes where answer.address.lanes.contains("\(lane.name) of \(process.name)") {
          found["\(process.url) \(lane.name)"] = answer.address.base
        }
      }
    }
    return found
  }
}
