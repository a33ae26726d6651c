/// Looks whether the providers that the configuration names can be reached. Any answer will do: it is the way that is
/// looked at, not the account.
struct ProviderCheck {
  /// Where a lane leads to.
  struct Address: Sendable, Hashable {
    /// The key that says it.
    let place: String
    /// The address without what follows the host: a path may hold an account.
    let base: String
    /// The certificates that the lane trusts; those of the system if `nil`.
    let caFile: String?
  }

  let probe: any HTTPProbe

  func findings(_ addresses: [Address]) async -> [Finding] {
    var findings: [Finding] = []
    for address in addresses { findings.append(await finding(address)) }
    return findings
  }

  private func finding(_ address: Address) async -> Finding {
    let check = "provider \(address.place)"
    do {
      let answer = try await probe.get(address.base)
      if answer.status < 500 { return Finding(check, .ok, "\(address.base) answers") }
      return Finding(
        check, .warning, "\(address.base) answers \(answer.status)", mend: "look at the provider's status page")
    } catch {
      return Finding(
        check, .failed, "\(address.base): \(error.description)",
        mend: "check the address in the configuration, DNS, the firewall and the certificates of the machine")
    }
  }

  /// The addresses of lanes, each once for the certificates with which it is trusted.
  static func addresses(_ files: ConfigurationFiles) -> [Address] {
    var seen: Set<[String?]> = []
    return files.files.flatMap { file in
      let settings = file.settings ?? []
      return settings.compactMap { setting -> Address? in
        guard setting.path.split(separator: ".").contains("lanes"), setting.value.hasPrefix("http"),
          // What is no URL is told by the process itself.
          let base = try? HTTPAddress(setting.value).base
        else { return nil }
        let address = Address(place: setting.path, base: base, caFile: caFile(for: setting.path, in: file))
        return seen.insert([base, address.caFile]).inserted ? address : nil
      }
    }
  }

  /// The `caFile` beside a key.
  private static func caFile(for path: String, in file: ConfigurationFiles.File) -> String? {
    let beside = path[..<(path.lastIndex(of: ".") ?? path.startIndex)] + ".caFile"
    return file.settings?.first { $0.path == beside }.map { file.resolve($0.value) }
  }
}
