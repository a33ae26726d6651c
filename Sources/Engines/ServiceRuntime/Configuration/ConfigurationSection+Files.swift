public import CountersignTelemetry

extension ConfigurationSection {
  /// Maximum size of a file with a secret. A larger one is a mistake.
  private static var maxSecretBytes: Int { 64 * 1024 }

  /// The path of a file or directory that may be absent. A relative one starts at the directory of the configuration
  /// file, and one from the environment at the current directory.
  public func path(_ key: String, _ help: String) -> String? {
    declare(key, kind: "path, optional", help)
    return readPath(key)
  }

  /// The check value of a file that `path` has declared, and that anybody may read. `nil` without one, and for one that
  /// cannot be read. Blocks.
  public func contentCheck(_ key: String) -> CheckValue? {
    guard let path = readPath(key) else { return nil }
    // The user of the file reports that it cannot be read.
    let content = try? LocalFile.read(path, maxBytes: Self.maxCheckedBytes)
    return content.map { CheckValue.content($0.bytes, file: Self.join(self.path, key)) }
  }

  /// Bytes of the authorities of a system, several times over.
  private static let maxCheckedBytes = 1 << 20

  /// The path of a file or directory, with a default.
  public func path(_ key: String, default fallback: String, _ help: String) -> String {
    declare(key, kind: "path, default \(fallback)", help)
    let path = readPath(key) ?? resolved(fallback)
    reader.keep(path, for: Self.join(self.path, key))
    return path
  }

  /// A secret in a file of its own, without the line feed at its end. The key should end in `File`.
  ///
  /// The file must be readable, not empty and UTF-8; only its owner and group may read it.
  public func secretFile(_ key: String, _ help: String) -> Secret? {
    declare(key, kind: "path of a file with a secret, optional", help)
    return readSecret(key)
  }

  /// The secret of a file that was declared by `secretFile`, as it is whenever the function is called. `nil` while the
  /// file cannot be read, is empty, or is not UTF-8. The call blocks for as long as the file system does.
  func currentSecret(_ key: String) -> (@Sendable () -> Secret?)? {
    guard let path = readPath(key) else { return nil }
    return {
      guard let content = try? LocalFile.read(path, maxBytes: Self.maxSecretBytes) else { return nil }
      return Self.secret(content)
    }
  }

  /// A required secret in a file. The key should end in `File`.
  public func requiredSecretFile(_ key: String, _ help: String) -> Secret {
    declare(key, kind: "path of a file with a secret, required", help)
    if override(key) == nil, field(key) == nil { reportMissing(key, help) }
    return readSecret(key) ?? Secret("")
  }

  /// It is accepted only where files cannot have other modes, as in some containers.
  private func tellReadable(_ key: String, _ path: String) {
    let fact = "\(path) can be read by every user of this machine"
    if reader.allowsReadableSecrets {
      warning(key, fact)
    } else {
      problem(
        key,
        "\(fact); fix it with: chmod 600 \(path) (or 640, and the group of the process's user), or set allowReadableSecrets to true"
      )
    }
  }

  private func readPath(_ key: String) -> String? {
    guard let path = override(key) ?? readString(key).map(resolved) else { return nil }
    reader.keep(path, for: Self.join(self.path, key))
    return path
  }

  private func resolved(_ path: String) -> String {
    path.hasPrefix("/") ? path : reader.directory + path
  }

  private func readSecret(_ key: String) -> Secret? {
    reader.declareReadableSecrets()
    guard let path = readPath(key) else { return nil }
    let content: LocalFile.Content
    do {
      content = try LocalFile.read(path, maxBytes: Self.maxSecretBytes)
    } catch {
      reader.report(Self.join(self.path, key), error.description, isPermission: error.isPermission)
      return nil
    }
    if content.isReadableByAll { tellReadable(key, path) }
    guard String(validating: content.bytes, as: UTF8.self) != nil else {
      problem(key, "\(path) is not UTF-8 text")
      return nil
    }
    guard let secret = Self.secret(content) else {
      problem(key, "\(path) is empty; write the secret into it")
      return nil
    }
    return secret
  }

  /// `nil` when nothing but line feeds is in the file, or text that is not UTF-8.
  private static func secret(_ content: LocalFile.Content) -> Secret? {
    guard let text = String(validating: content.bytes, as: UTF8.self)?.trimmingLineFeeds(), !text.isEmpty else {
      return nil
    }
    return Secret(text)
  }
}

extension String {
  fileprivate func trimmingLineFeeds() -> String {
    var text = self[...]
    while let last = text.last, last.isNewline { text.removeLast() }
    return String(text)
  }
}
