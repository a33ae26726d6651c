public import CommandEngine
import SQLite
import Synchronization

/// A SQLite file that several stores share, as processes do. It goes with the object.
public final class StoreFile: Sendable {
  private let directory: TemporaryDirectory
  private let opened = Mutex<[SQLiteStore]>([])

  public var path: String { directory.path + "/store.sqlite" }

  public init() throws { directory = try TemporaryDirectory() }

  /// Lends a file, and closes the stores that a test leaves open.
  public static func with<T>(_ body: (StoreFile) async throws -> T) async throws -> T {
    let file = try StoreFile()
    let result: Result<T, any Error>
    do { result = .success(try await body(file)) } catch { result = .failure(error) }
    for store in file.opened.withLock({ $0 }) { await store.close() }
    return try result.get()
  }

  /// Opens one more store.
  public func open() async throws -> SQLiteStore {
    let store = try await SQLiteStore.open(path: path, options: DatabaseOptions(synchronous: .normal))
    opened.withLock { $0.append(store) }
    return store
  }
}
