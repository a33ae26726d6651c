internal import CountersignCryptography
internal import FoundationEssentials

/// Comparison of the sealing keys that the configuration files name: each worker has to open what the coordinator seals.
///
/// Keys are compared by ID and by content. A file that this user may not read is told as such; systemd's units hand the keys to the processes
/// under another name than the files have.
enum KeyCheck {
  static func findings(_ files: ConfigurationFiles) -> [Finding] {
    guard let coordinator = files.files.first(where: { $0.name == "coordinator.json5" }),
      let sealing = keys(of: coordinator)?.sealing
    else { return [] }
    return files.files.filter { $0.name.hasSuffix("-worker.json5") && $0.settings != nil }
      .map { finding($0, sealing: sealing) }
  }

  private static func finding(_ file: ConfigurationFiles.File, sealing: SymmetricKey) -> Finding {
    let check = "sealing keys of \(file.name)"
    guard file.settings?.contains(where: { $0.path == "keysFile" }) == true else {
      return Finding(
        check, .failed, "it names no keysFile: every secret of the coordinator becomes a dead letter",
        mend: "name the file with the coordinator's keys as keysFile")
    }
    guard let keys = keys(of: file) else {
      return Finding(check, .skipped, "its keysFile cannot be read", mend: "look at it as a user that may read it")
    }
    guard let key = keys.opening[sealing.id] else {
      let own = keys.opening.keys.sorted().joined(separator: ", ")
      return Finding(
        check, .failed, "the coordinator seals with the key \(sealing.id), and this file has \(own)",
        mend: "give it the coordinator's keysFile, and start the worker again")
    }
    guard isSame(key, sealing) else {
      return Finding(
        check, .failed, "its key \(sealing.id) is another one than the coordinator's of that name",
        mend: "give it the coordinator's keysFile, and start the worker again")
    }
    return Finding(check, .ok, "they open what the coordinator seals (\(sealing.id))")
  }

  private static func isSame(_ one: SymmetricKey, _ other: SymmetricKey) -> Bool {
    one.withUnsafeBytes { first in
      other.withUnsafeBytes { second in constantTimeEquals(Array(first), Array(second)) }
    }
  }

  /// Keys that a file names; `nil` when they cannot be read, which its process tells in more words.
  private static func keys(of file: ConfigurationFiles.File) -> KeyRing? {
    guard let setting = file.settings?.first(where: { $0.path == "keysFile" }),
      let data = try? Data(contentsOf: URL(filePath: file.resolve(setting.value)))
    else { return nil }
    return try? KeyRing(jwkSet: Array(data))
  }
}
