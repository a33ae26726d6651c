/// Checks whether the providers that the configuration names can be reached. Any answer will do: the check is about the
/// connection, not about the account.
struct ProviderCheck {
  /// Address of a lane's provider.
  struct Address: Sendable, Hashable {
    /// Lane and file, for people: `lane twilio (sms-worker.json5)`.
    let place: String
    /// Address without path, which may hold an account.
    let base: String
    /// Certificates that the lane trusts; those of the system if `nil`.
    let caFile: String?
  }

  let probe: any HTTPProbe

  func findings(_ addresses: [Address]) async -> [Finding] {
    var findings: [Finding] = []
    for address in addresses { findings.append(await finding(address)) }
    return findings
  }

  private func finding(_ address: Address) async -> Finding {
    let check = "provider of \(address.place)"
    do {
      let answer = try await probe.get(address.base)
      if answer.status < 500 { return Finding(check, .ok, "\(address.base) answers") }
      return Finding(
        check, .warning, "\(address.base) answers \(answer.status)", hint: "see the provider's status page")
    } catch {
      return Finding(
        check, .failed, "\(address.base): \(error.description)",
        hint: "check the address in the configuration, DNS, the firewall and the certificates of the machine")
    }
  }

  /// Addresses of the lanes, each once per set of trusted certificates.
  static func addresses(_ files: ConfigurationFiles) -> [Address] {
    var seen: Set<[String?]> = []
    return files.files.flatMap { file in
      let settings = file.settings ?? []
      return settings.compactMap { setting -> Address? in
        guard setting.path.split(separator: ".").contains("lanes"), setting.value.hasPrefix("http"),
          // The process itself reports a value that is not a URL.
          let base = try? HTTPAddress(setting.value).base
        else { return nil }
        let place = "lane \(lane(of: setting.path, in: file)) (\(file.name))"
        let address = Address(place: place, base: base, caFile: caFile(for: setting.path, in: file))
        return seen.insert([base, address.caFile]).inserted ? address : nil
      }
    }
  }

  /// Name of the lane that a key belongs to: its `name`, else its place under `lanes`.
  private static func lane(of path: String, in file: ConfigurationFiles.File) -> String {
    let keys = path.split(separator: ".")
    guard let index = keys.firstIndex(of: "lanes"), index + 1 < keys.count else { return path }
    let lane = keys[...(index + 1)].joined(separator: ".")
    return file.settings?.first { $0.path == "\(lane).name" }?.value ?? String(keys[index + 1])
  }

  /// The `caFile` next to a key.
  private static func caFile(for path: String, in file: ConfigurationFiles.File) -> String? {
    let key = path[..<(path.lastIndex(of: ".") ?? path.startIndex)] + ".caFile"
    return file.settings?.first { $0.path == key }.map { file.resolve($0.value) }
  }
}
