/// Looks whether the providers that the configuration names can be reached. Any answer will do: it is the way that is
/// looked at, not the account.
struct ProviderCheck {
  let probe: any HTTPProbe

  func findings(_ files: ConfigurationFiles) async -> [Finding] {
    var findings: [Finding] = []
    for (place, base) in Self.addresses(files) {
      let check = "provider \(place)"
      do {
        let answer = try await probe.get(base)
        findings.append(
          answer.status < 500
            ? Finding(check, .ok, "\(base) answers")
            : Finding(check, .warning, "\(base) answers \(answer.status)", mend: "look at the provider's status page"))
      } catch {
        findings.append(
          Finding(
            check, .failed, "\(base): \(error.description)",
            mend: "check the address in the configuration, DNS, the firewall and the certificates of the machine"))
      }
    }
    return findings
  }

  /// The addresses of lanes, each once, without what follows the host: a path may hold an account.
  static func addresses(_ files: ConfigurationFiles) -> [(place: String, base: String)] {
    var seen: Set<String> = []
    return files.files.flatMap { file in
      (file.settings ?? []).compactMap { setting in
        guard setting.path.hasPrefix("lanes."), setting.value.hasPrefix("http"),
          // What is no URL is told by the process itself.
          let address = try? HTTPAddress(setting.value), seen.insert(address.base).inserted
        else { return nil }
        return (setting.path, address.base)
      }
    }
  }
}
