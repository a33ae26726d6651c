/// Looks at the files that the configuration names.
enum FileChecks {
  static func findings(_ files: ConfigurationFiles) -> [Finding] {
    files.files.flatMap { file -> [Finding] in
      guard let settings = file.settings else {
        return [
          Finding(
            "configuration \(file.name)", .failed, "cannot be read as JSON5",
            mend: "start its process with --check --config \(file.directory)/\(file.name): it names the line")
        ]
      }
      let findings = settings.compactMap { finding($0, in: file) }
      let bad = findings.filter { $0.status != .ok }
      if bad.isEmpty {
        return [Finding("configuration \(file.name)", .ok, "\(findings.count) files that it names are there")]
      }
      return bad
    }
  }

  private static func finding(_ setting: ConfigurationFiles.Setting, in file: ConfigurationFiles.File) -> Finding? {
    let key = setting.path.split(separator: ".").last ?? ""
    let check = "\(file.name): \(setting.path)"
    let path = file.resolve(setting.value)
    if isDatabase(setting.path) {
      let found = database(check, path)
      return found.status == .ok ? ledger(setting, in: file, check) ?? found : found
    }
    if key.hasSuffix("File"), key != "caFile" { return secret(check, path) }
    return nil
  }

  /// `database.path`, `ledger.path`.
  private static func isDatabase(_ path: String) -> Bool {
    ["database.path", "ledger.path"].contains { path == $0 || path.hasSuffix(".\($0)") }
  }

  /// Value of `ledger.maxMegabytes` when the file does not say it, in MiB; a worker's default.
  private static let ledgerDefault: Int64 = 8192

  /// A ledger that comes near its bound: soon it forgets jobs that it should remember.
  private static func ledger(
    _ setting: ConfigurationFiles.Setting, in file: ConfigurationFiles.File, _ check: String
  ) -> Finding? {
    guard setting.path == "ledger.path" || setting.path.hasSuffix(".ledger.path") else { return nil }
    let bound = file.integers[String(setting.path.dropLast("path".count)) + "maxMegabytes"] ?? ledgerDefault
    let size = FileFacts(file.resolve(setting.value))?.size ?? 0
    // Nine tenths, whatever the bound in a file is.
    guard Double(size) >= Double(bound) * 1_048_576 * 0.9 else { return nil }
    return Finding(
      check, .warning,
      "the ledger has \(size >> 20) of at most \(bound) MiB: at the bound the oldest results are forgotten",
      mend: "raise ledger.maxMegabytes, or lower ledger.retentionHours")
  }

  private static func secret(_ check: String, _ path: String) -> Finding {
    guard let facts = FileFacts(path) else {
      return Finding(check, .failed, "\(path) is not there", mend: "make it, or name another file")
    }
    if facts.size == 0 { return Finding(check, .failed, "\(path) is empty", mend: "put the secret into it") }
    if facts.isReadableByAll {
      return Finding(check, .warning, "everybody on the machine can read \(path)", mend: "chmod o-r \(path)")
    }
    return Finding(check, .ok, path)
  }

  /// Space that has to be left on the disk of a database, in bytes.
  private static let leastFree: Int64 = 1 << 30
  /// A write-ahead log this long means that something keeps it from being written back, in bytes.
  private static let longLog: Int64 = 1 << 29

  /// The first 16 bytes of every database ("Database File Format", section 1.3).
  private static let magic = Array("SQLite format 3\u{0}".utf8)

  private static func database(_ check: String, _ path: String) -> Finding {
    let directory = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    guard FileFacts(directory) != nil else {
      return Finding(check, .failed, "the directory \(directory) is not there", mend: "mkdir -p \(directory)")
    }
    if let free = FileFacts.freeBytes(directory), free < leastFree {
      return Finding(check, .warning, "only \(free >> 20) MiB are free on its disk", mend: "make room")
    }
    guard FileFacts(path) != nil else {
      return Finding(check, .ok, "\(path) is not there yet: it is made when its process starts")
    }
    if (FileFacts("\(path)-wal")?.size ?? 0) > longLog {
      return Finding(
        check, .warning, "its write-ahead log is longer than \(longLog >> 20) MiB",
        mend: "look for a program that keeps a read open on \(path)")
    }
    guard FileFacts.beginning(path).map({ $0.isEmpty || $0 == magic }) == true else {
      return Finding(
        check, .failed, "\(path) is no SQLite file", mend: "name another file, or restore it from a backup")
    }
    return Finding(check, .ok, path)
  }
}
