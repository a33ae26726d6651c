import FoundationEssentials

/// Value that one file of a directory alone may have, with its kind before it, the key that has it, and the reason.
public typealias UniqueName = (value: String, place: String, rule: String)

/// Directory with a configuration file for each ID: `projects/shop-1.json5` is that of `shop-1`.
///
/// Its files are judged one by one: a wrong one leaves what its ID stood for as it was, and a removed one removes it.
public struct ConfigurationDirectory<Content: Sendable & Hashable>: Sendable {
  /// Contents by ID, and the problems that their files have.
  public struct Reading: Sendable {
    public var contents: [String: Content]
    public var problems: [ConfigurationProblem] = []
    /// Values that are allowed but probably unintended.
    public var warnings: [ConfigurationProblem] = []
  }

  private struct File {
    let name: String
    let bytes: Result<[UInt8], ConfigurationError>
    var id: String? { name.hasSuffix(".json5") ? String(name.dropLast(".json5".count)) : nil }
  }

  static var maxFiles: Int { 1_000 }
  /// Maximum size of all files together, in bytes. One alone may have as many as any configuration file.
  static var maxBytes: Int { 16 << 20 }

  public let path: String
  private let idForm: String
  private let isID: @Sendable (String) -> Bool
  private let reserved: [String: String]
  private let names: @Sendable (Content) -> [UniqueName]
  private let read: @Sendable (_ id: String, ConfigurationSection) -> Content

  /// - Parameters:
  ///   - path: the directory.
  ///   - idForm: form of an ID, in words.
  ///   - isID: whether a text has that form.
  ///   - reserved: names that no file may have, with the places that have them.
  ///   - names: values of a content that no other may have.
  ///   - read: reads a content. Problems are reported to the section.
  public init(
    _ path: String, idForm: String, isID: @escaping @Sendable (String) -> Bool, reserved: [UniqueName] = [],
    names: @escaping @Sendable (Content) -> [UniqueName],
    read: @escaping @Sendable (_ id: String, ConfigurationSection) -> Content
  ) {
    self.path = path
    self.idForm = idForm
    self.isID = isID
    self.reserved = Dictionary(reserved.map { ($0.value, $0.place) }) { first, _ in first }
    self.names = names
    self.read = read
  }

  /// Path of the file of an ID.
  public func path(of id: String) -> String { "\(path)/\(id).json5" }

  /// Names and contents of all files in one text, which changes with each of them. Blocks.
  public func bytes() throws(ConfigurationError) -> [UInt8] {
    var bytes: [UInt8] = []
    for file in try files() {
      bytes += Array(file.name.utf8) + [0]
      switch file.bytes {
      case .success(let content): bytes += content + [0]
      case .failure(let error): bytes += Array(error.description.utf8) + [0]
      }
    }
    return bytes
  }

  /// Reads all files. Blocks.
  /// - Parameters:
  ///   - previous: contents in force by ID, which stay where files are wrong.
  ///   - new: an ID, and the content that its file would have.
  public func load(previous: [String: Content] = [:], with new: (id: String, bytes: [UInt8])? = nil) -> Reading {
    var files: [File]
    do throws(ConfigurationError) { files = try self.files() } catch {
      return Reading(contents: previous, problems: error.problems)
    }
    if let new {
      files.removeAll { $0.id == new.id }
      files.append(File(name: "\(new.id).json5", bytes: .success(new.bytes)))
    }
    var reading = Reading(contents: [:])
    var changed: [String: Content] = [:]
    for file in files {
      do throws(ConfigurationError) {
        let (id, content) = try self.content(of: file, &reading.warnings)
        if previous[id] == content { reading.contents[id] = content } else { changed[id] = content }
      } catch {
        reading.problems += error.problems
        if let id = file.id { reading.contents[id] = previous[id] }
      }
    }
    while let (id, problem) = collision(of: changed, with: reading.contents) {
      reading.problems.append(problem)
      changed[id] = nil
      reading.contents[id] = previous[id]
    }
    reading.contents.merge(changed) { kept, _ in kept }
    return reading
  }

  /// Reads all files at the start of a process. Problems and warnings are reported under the key that names the
  /// directory. Blocks.
  public func contents(_ section: ConfigurationSection, _ key: String) -> [String: Content] {
    let reading = load()
    for problem in reading.problems { section.problem(key, problem.description) }
    for warning in reading.warnings { section.warning(key, warning.description) }
    return reading.problems.isEmpty ? reading.contents : [:]
  }

  private func content(
    of file: File, _ warnings: inout [ConfigurationProblem]
  ) throws(ConfigurationError) -> (id: String, content: Content) {
    guard let id = file.id, isID(id) else {
      throw ConfigurationError([
        ConfigurationProblem("\(path)/\(file.name)", "is not named ID.json5; an ID has \(idForm)")
      ])
    }
    let content = try ConfigurationFile(path: path(of: id), bytes: file.bytes.get())
    let reader = ConfigurationReader(file: content, environment: [:])
    let result = read(id, ConfigurationSection(reader: reader, path: "", fields: content.fields))
    reader.reportUnknownKeys()
    guard reader.problems.isEmpty else { throw ConfigurationError(reader.problems) }
    warnings += reader.warnings
    return (id, result)
  }

  /// Those that stay have their names first: they agree with each other.
  private func collision(
    of changed: [String: Content], with kept: [String: Content]
  ) -> (id: String, problem: ConfigurationProblem)? {
    var places = reserved
    for (id, content) in kept {
      for name in names(content) { places[name.value] = "\(path(of: id)): \(name.place)" }
    }
    for (id, content) in changed.sorted(by: { $0.key < $1.key }) {
      for name in names(content) {
        let place = "\(path(of: id)): \(name.place)"
        guard let other = places.updateValue(place, forKey: name.value) else { continue }
        return (id, ConfigurationProblem(place, "is that of \(other) as well; \(name.rule)"))
      }
    }
    return nil
  }

  private func files() throws(ConfigurationError) -> [File] {
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: path).filter { !Self.isLeftOver($0) }.sorted()
    } catch {
      throw problem("is no directory that user \(LocalFile.userName) can read; create it, or name another one")
    }
    guard names.count <= Self.maxFiles else { throw problem("has more than \(Self.maxFiles) files") }
    var files: [File] = []
    var total = 0
    for name in names {
      do throws(ConfigurationError) {
        let bytes = try ConfigurationFile.read("\(path)/\(name)")
        total += bytes.count
        files.append(File(name: name, bytes: .success(bytes)))
      } catch { files.append(File(name: name, bytes: .failure(error))) }
      guard total <= Self.maxBytes else { throw problem("has more than \(Self.maxBytes) bytes in its files") }
    }
    return files
  }

  /// Whether a file is hidden, or what an editor or the package manager has left over.
  private static func isLeftOver(_ name: String) -> Bool {
    name.hasPrefix(".") || name.hasPrefix("#") || name.hasSuffix("~") || name.hasSuffix(".swp")
      || name.contains(".dpkg-")
  }

  private func problem(_ text: String) -> ConfigurationError {
    ConfigurationError([ConfigurationProblem(path, text)])
  }
}
