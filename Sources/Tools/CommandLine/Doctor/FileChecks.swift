enum FileChecks {
  /// At the paths that they have: this user may see no other file of theirs.
  static func databases(_ configurations: ConfigurationFiles) -> [Finding] {
    configurations.files.flatMap { file in
      (file.settings ?? []).filter { isDatabase($0.path) && FileFacts($0.value) != nil }
        .compactMap { finding($0, in: file) }.filter { $0.status != .ok }
    }
  }

  static func findings(_ files: ConfigurationFiles) -> [Finding] {
    files.files.flatMap { file -> [Finding] in
      guard let settings = file.settings else {
        return [
          Finding(
            "configuration \(file.name)", .failed, "cannot be read as JSON5",
            hint: ConfigurationCheck.processes.contains(String(file.name.dropLast(".json5".count)))
              ? "run its process with --check --config \(file.directory)/\(file.name): it names the line"
              : "correct it: the processes that read it name the line, with --check")
        ]
      }
      let findings = settings.compactMap { finding($0, in: file) }
      let bad = findings.filter { $0.status != .ok }
      if bad.isEmpty {
        return [Finding("configuration \(file.name)", .ok, "\(findings.count) files that it names exist")]
      }
      return bad
    }
  }

  private static func finding(_ setting: ConfigurationFiles.Setting, in file: ConfigurationFiles.File) -> Finding? {
    let key = setting.path.split(separator: ".").last ?? ""
    let check = "\(file.name): \(setting.path)"
    let path = file.resolve(setting.value)
    if isDatabase(setting.path) {
      guard isInUse(setting, in: file) else { return nil }
      let found = database(check, path)
      return found.status == .ok ? ledger(setting, in: file, check) ?? found : found
    }
    if publicFiles.contains(String(key)) {
      return FileFacts(path) == nil ? absent(check, path, file) : Finding(check, .ok, path)
    }
    if key.hasSuffix("File"), key != "caFile" { return secret(check, path, file) }
    return nil
  }

  private static let publicFiles: Set = ["projectsDirectory", "accountsKeysFile"]

  /// `database.path`, `ledger.path`.
  private static func isDatabase(_ path: String) -> Bool {
    ["database.path", "ledger.path"].contains { path == $0 || path.hasSuffix(".\($0)") }
  }

  /// Whether the section has its data in the file, and not in a server, or nowhere.
  private static func isInUse(_ setting: ConfigurationFiles.Setting, in file: ConfigurationFiles.File) -> Bool {
    let type = setting.path.dropLast("path".count) + "type"
    return file.settings?.first { $0.path == type }.map { $0.value == "sqlite" } ?? true
  }

  /// In MiB.
  private static let ledgerDefault: Int64 = 8192

  /// Finding for a ledger near its bound, which will soon forget jobs too early.
  private static func ledger(
    _ setting: ConfigurationFiles.Setting, in file: ConfigurationFiles.File, _ check: String
  ) -> Finding? {
    guard setting.path == "ledger.path" || setting.path.hasSuffix(".ledger.path") else { return nil }
    let bound = file.integers[String(setting.path.dropLast("path".count)) + "maxMegabytes"] ?? ledgerDefault
    let size = FileFacts(file.resolve(setting.value))?.size ?? 0
    // At nine tenths of the bound.
    guard Double(size) >= Double(bound) * 1_048_576 * 0.9 else { return nil }
    return Finding(
      check, .warning,
      "the ledger has \(size >> 20) of at most \(bound) MiB: at the limit the oldest results are forgotten",
      hint: "raise ledger.maxMegabytes, or lower ledger.retentionHours")
  }

  /// A file that does not exist, of which its process says the same.
  private static func absent(_ check: String, _ path: String, _ file: ConfigurationFiles.File) -> Finding {
    let process = String(file.name.dropLast(".json5".count))
    return Finding(
      check, .failed, "\(path) does not exist", hint: "create it, or name another file", needs: [[.settings(process)]])
  }

  private static func secret(_ check: String, _ path: String, _ file: ConfigurationFiles.File) -> Finding {
    guard let facts = FileFacts(path) else { return absent(check, path, file) }
    if facts.size == 0 { return Finding(check, .failed, "\(path) is empty", hint: "put the secret into it") }
    if facts.isReadableByAll {
      return Finding(check, .warning, "every user of the machine can read \(path)", hint: "chmod o-r \(path)")
    }
    return Finding(check, .ok, path)
  }

  /// On the disk of a database, in bytes.
  private static let minFree: Int64 = 1 << 30
  /// Length of a write-ahead log that a long read keeps from being written back, in bytes.
  private static let longLog: Int64 = 1 << 29

  /// First 16 bytes of every database ("Database File Format", section 1.3).
  private static let magic = Array("SQLite format 3\u{0}".utf8)

  private static func database(_ check: String, _ path: String) -> Finding {
    let directory = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    guard FileFacts(directory) != nil else {
      return Finding(
        check, .failed, "the directory \(directory) does not exist",
        hint: "mkdir -p \(directory); if the process takes the path from its environment, name that path here too")
    }
    if let free = FileFacts.freeBytes(directory), free < minFree {
      return Finding(check, .warning, "only \(free >> 20) MiB are free on its disk", hint: "free space on it")
    }
    guard FileFacts(path) != nil else {
      return Finding(check, .ok, "\(path) does not exist yet: its process creates it")
    }
    if (FileFacts("\(path)-wal")?.size ?? 0) > longLog {
      return Finding(
        check, .warning, "its write-ahead log is longer than \(longLog >> 20) MiB",
        hint: "look for a program that keeps a read open on \(path)")
    }
    guard FileFacts.beginning(path).map({ $0.isEmpty || $0 == magic }) == true else {
      return Finding(
        check, .failed, "\(path) is not a SQLite file", hint: "name another file, or restore it from a backup")
    }
    return Finding(check, .ok, path)
  }
}
