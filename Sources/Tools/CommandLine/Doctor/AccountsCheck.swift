import CountersignCryptography
import FoundationEssentials
import Projects
import ServiceRuntime

/// Compares the files of accounts and gateway with each other and with the coordinator's: what does not fit together
/// fails only when somebody signs in.
enum AccountsCheck {
  static func findings(_ files: ConfigurationFiles) -> [Finding] {
    let file = { (name: String) in files.files.first { $0.name == name && $0.settings != nil } }
    let (accounts, gateway) = (file("accounts.json5"), file("gateway.json5"))
    var findings: [Finding] = []
    if let named = gateway ?? accounts { findings += projects(named, other: accounts, file("coordinator.json5")) }
    if let accounts, let gateway { findings.append(publicKeys(gateway, accounts)) }
    if let coordinator = file("coordinator.json5") {
      if let accounts {
        findings += sealingKeys(
          of: "accounts", accounts, coordinator, hint: "give accounts the coordinator's keysFile, and start it again")
      }
      if let gateway {
        findings += sealingKeys(
          of: "the gateway", gateway, coordinator,
          hint: "append the key of the gateway's keysFile to the coordinator's, and start the coordinator again")
      }
    }
    return findings
  }

  // MARK: Projects

  private static func path(_ file: ConfigurationFiles.File) -> String {
    file.resolve(file.settings?.first { $0.path == "projectsFile" }?.value ?? "projects.json5")
  }

  private static func projects(
    _ file: ConfigurationFiles.File, other: ConfigurationFiles.File?, _ coordinator: ConfigurationFiles.File?
  ) -> [Finding] {
    let check = "projects of \(file.name)"
    let content: Projects
    do throws(ConfigurationError) { content = try ProjectsFile.load(path(file)).content } catch {
      return [Finding(check, .failed, error.description, hint: "correct the file; it stays as it was until then")]
    }
    if let other, path(other) != path(file), (try? ProjectsFile.load(path(other)).content) != content {
      return [
        Finding(
          check, .failed, "they differ from those of \(other.name): \(path(file)), \(path(other))",
          hint: "give both the same projects file")
      ]
    }
    let wrong = coordinator.map { apps(content, $0, check) } ?? []
    guard wrong.isEmpty else { return wrong }
    let count = content.all.values.reduce(0) { $0 + $1.apps.count }
    return [
      content.all.isEmpty
        ? Finding(check, .note, "there is no project", hint: "countersign project add")
        : Finding(check, .ok, "\(content.all.count) projects with \(count) apps")
    ]
  }

  /// Apps that the coordinator does not have, or does not let the gateway ask for.
  private static func apps(
    _ projects: Projects, _ coordinator: ConfigurationFiles.File, _ check: String
  ) -> [Finding] {
    let modes = Dictionary(
      (coordinator.settings ?? []).compactMap { setting -> (String, String)? in
        guard setting.path.hasPrefix("apps."), setting.path.hasSuffix(".verification") else { return nil }
        return (String(setting.path.dropFirst("apps.".count).dropLast(".verification".count)), setting.value)
      }, uniquingKeysWith: { first, _ in first })
    return projects.all.values.flatMap(\.apps).map(\.id).sorted().compactMap { id in
      guard let mode = modes[id] else {
        return Finding(
          check, .failed, "the coordinator has no app \(id): no code is sent for it",
          hint: "add it to apps of coordinator.json5, with its way of verification")
      }
      guard mode == "trusted", !coordinator.isDevelopment else { return nil }
      return Finding(
        check, .failed,
        "the app \(id) is 'trusted' in coordinator.json5, so the gateway, which vouches for nobody, is refused",
        hint: "set its verification to push or recaptcha; services that ask for it themselves need an app of their own")
    }
  }

  // MARK: Keys

  /// Compares the key that the gateway seals to with those that accounts opens with.
  private static func publicKeys(_ gateway: ConfigurationFiles.File, _ accounts: ConfigurationFiles.File) -> Finding {
    let check = "accounts' keys of gateway.json5"
    let hint = "countersign keys public ACCOUNTS_FILE > the gateway's accountsKeysFile, and start the gateway again"
    let own = data("accountsKeysFile", of: gateway, default: "accounts-public-keys.json")
    guard let own, let keys = try? PublicSealingKeys(jwkSet: own), let sealing = keys.sealing else {
      return Finding(check, .failed, "accountsKeysFile cannot be read, or holds no public keys", hint: hint)
    }
    guard let secret = data("sealingKeysFile", of: accounts) else {
      return Finding(
        check, .skipped, "sealingKeysFile of accounts cannot be read", hint: "run the doctor as a user that may read it"
      )
    }
    guard let opening = try? PrivateSealingKeys(jwkSet: secret) else {
      return Finding(
        check, .failed, "sealingKeysFile of accounts holds no usable keys", hint: "countersign keys generate --sealing")
    }
    guard opening[sealing.id]?.publicKey == sealing else {
      return Finding(
        check, .failed, "the gateway seals to the key \(sealing.id), which accounts does not have: nobody signs in",
        hint: hint)
    }
    return Finding(check, .ok, "accounts opens what the gateway seals (\(sealing.id))")
  }

  /// Compares the key that a process seals with to those of the coordinator, which opens its seals.
  private static func sealingKeys(
    of process: String, _ file: ConfigurationFiles.File, _ coordinator: ConfigurationFiles.File, hint: String
  ) -> [Finding] {
    let check = "sealing keys of \(file.name)"
    // The check of the files, and each process, report files that cannot be read.
    guard let sealing = KeyCheck.keys(of: file)?.sealing, let keys = KeyCheck.keys(of: coordinator) else {
      return []
    }
    guard let key = keys.opening[sealing.id], KeyCheck.isSame(key, sealing) else {
      return [
        Finding(
          check, .failed, "\(process) seals with the key \(sealing.id), which the coordinator does not have", hint: hint
        )
      ]
    }
    return [Finding(check, .ok, "the coordinator opens its seals (\(sealing.id))")]
  }

  private static func data(
    _ key: String, of file: ConfigurationFiles.File, default fallback: String? = nil
  ) -> [UInt8]? {
    guard let name = file.settings?.first(where: { $0.path == key })?.value ?? fallback,
      let data = try? Data(contentsOf: URL(filePath: file.resolve(name)))
    else { return nil }
    return Array(data)
  }
}
