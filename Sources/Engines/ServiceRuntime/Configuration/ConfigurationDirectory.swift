import FoundationEssentials
import Synchronization

/// Value that one file of a directory alone may have, with its kind before it, the key that has it, and the reason.
public typealias UniqueName = (value: String, place: String, rule: String)

/// Directory with a configuration file for each ID: `projects/shop-1.json5` is that of `shop-1`.
///
/// Its files are judged one by one: a wrong one leaves what its ID stood for as it was, and a removed one removes it.
/// Files of other names are passed over.
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
    var id: String { String(name.dropLast(".json5".count)) }
  }

  private struct Parsed {
    let bytes: [UInt8]
    let content: Content
    let warnings: [ConfigurationProblem]
  }

  /// Right files by ID, so that a wrong one does not have all of them parsed at each look.
  private final class Cache: Sendable {
    let files = Mutex<[String: Parsed]>([:])
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
  private let cache = Cache()

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

  /// Whether no ID has a file. Blocks.
  public var isEmpty: Bool { (try? files())?.isEmpty ?? false }

  /// Names and contents of all files in one text, which changes with each of them. Blocks.
  /// - Parameter ids: IDs in force.
  /// - Returns: the text, and IDs in force that have no file.
  /// - Throws: the problem of a directory that cannot be read, or has no file while there are IDs in force.
  public func look(_ ids: some Collection<String>) throws(ConfigurationError) -> (bytes: [UInt8], absent: Set<String>) {
    let files = try files()
    if files.isEmpty, !ids.isEmpty {
      throw problem("has no file ID.json5 any more; put them back, or remove the last one and start the process again")
    }
    var bytes: [UInt8] = []
    for file in files {
      bytes += Array(file.name.utf8) + [0]
      switch file.bytes {
      case .success(let content): bytes += content + [0]
      case .failure(let error): bytes += Array(error.description.utf8) + [0]
      }
    }
    return (bytes, Set(ids).subtracting(files.map(\.id)))
  }

  /// Reads all files. Blocks.
  /// - Parameters:
  ///   - previous: contents in force by ID, which stay where files are wrong or absent.
  ///   - removed: IDs whose contents do not stay when their files are absent.
  ///   - new: an ID, and the content that its file would have.
  public func load(
    previous: [String: Content] = [:], removed: Set<String> = [], with new: (id: String, bytes: [UInt8])? = nil
  ) -> Reading {
    var files: [File]
    do throws(ConfigurationError) { files = try self.files() } catch {
      return Reading(contents: previous, problems: error.problems)
    }
    if let new {
      files.removeAll { $0.id == new.id }
      files.append(File(name: "\(new.id).json5", bytes: .success(new.bytes)))
    }
    let ids = Set(files.map(\.id))
    cache.files.withLock { known in known = known.filter { ids.contains($0.key) } }
    var reading = Reading(contents: previous.filter { !ids.contains($0.key) && !removed.contains($0.key) })
    var changed: [String: Content] = [:]
    for file in files {
      do throws(ConfigurationError) {
        let parsed = try parsed(file)
        reading.warnings += parsed.warnings
        if previous[file.id] == parsed.content {
          reading.contents[file.id] = parsed.content
        } else {
          changed[file.id] = parsed.content
        }
      } catch {
        reading.problems += error.problems
        reading.contents[file.id] = previous[file.id]
      }
    }
    while case let collisions = collisions(of: changed, with: reading.contents), !collisions.isEmpty {
      for (id, problem) in collisions {
        reading.problems.append(problem)
        changed[id] = nil
        reading.contents[id] = previous[id]
      }
    }
    reading.contents.merge(changed) { kept, _ in kept }
    return reading
  }

  /// Reads all files at the start of a process, which goes on without the wrong ones unless none is right. Problems and
  /// warnings are reported under the key that names the directory. Blocks.
  public func contents(_ section: ConfigurationSection, _ key: String) -> [String: Content] {
    let reading = load()
    for problem in reading.problems {
      if reading.contents.isEmpty {
        section.problem(key, problem.description)
      } else {
        section.warning(key, "left out: \(problem.description)")
      }
    }
    for warning in reading.warnings { section.warning(key, warning.description) }
    return reading.contents
  }

  private func parsed(_ file: File) throws(ConfigurationError) -> Parsed {
    let id = file.id
    guard isID(id) else {
      throw ConfigurationError([
        ConfigurationProblem("\(path)/\(file.name)", "is not named ID.json5; an ID has \(idForm)")
      ])
    }
    let bytes = try file.bytes.get()
    if let known = cache.files.withLock({ $0[id] }), known.bytes == bytes { return known }
    let content = try ConfigurationFile(path: path(of: id), bytes: bytes)
    let reader = ConfigurationReader(file: content, environment: [:])
    let result = read(id, ConfigurationSection(reader: reader, path: "", fields: content.fields))
    reader.reportUnknownKeys()
    guard reader.problems.isEmpty else { throw ConfigurationError(reader.problems) }
    let parsed = Parsed(bytes: bytes, content: result, warnings: reader.warnings)
    cache.files.withLock { $0[id] = parsed }
    return parsed
  }

  /// Those that stay have their names first: they agree with each other.
  private func collisions(
    of changed: [String: Content], with kept: [String: Content]
  ) -> [(id: String, problem: ConfigurationProblem)] {
    var places = reserved
    for (id, content) in kept {
      for name in names(content) { places[name.value] = "\(path(of: id)): \(name.place)" }
    }
    var collisions: [(id: String, problem: ConfigurationProblem)] = []
    for (id, content) in changed.sorted(by: { $0.key < $1.key }) {
      let names = names(content)
      if let name = names.first(where: { places[$0.value] != nil }), let other = places[name.value] {
        let place = "\(path(of: id)): \(name.place)"
        collisions.append((id, ConfigurationProblem(place, "is that of \(other) as well; \(name.rule)")))
      } else {
        for name in names { places[name.value] = "\(path(of: id)): \(name.place)" }
      }
    }
    return collisions
  }

  private func files() throws(ConfigurationError) -> [File] {
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: path).sorted()
        .filter { $0.hasSuffix(".json5") && !$0.hasPrefix(".") && !$0.hasPrefix("#") }
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

  private func problem(_ text: String) -> ConfigurationError {
    ConfigurationError([ConfigurationProblem(path, text)])
  }
}
