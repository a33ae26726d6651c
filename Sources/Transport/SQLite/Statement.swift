import CSQLite

/// A prepared statement. Belongs to its connection's thread.
final class Statement {
  let handle: OpaquePointer
  /// Set while its rows are being read: a nested use of the same SQL needs a statement of its own.
  var isInUse = false
  /// When it was used last, in uses of the cache.
  var lastUse: UInt64 = 0

  init(_ handle: OpaquePointer) {
    self.handle = handle
  }

  deinit {
    // Repeats the code of the last failure, which was reported when it happened.
    sqlite3_finalize(handle)
  }

  /// Binds every value.
  /// - Returns: SQLite's result code; `SQLITE_RANGE` also when there are fewer values than `?`s, which SQLite would
  ///   read as NULL.
  func bind(_ values: [Value]) -> Int32 {
    guard Int32(values.count) == sqlite3_bind_parameter_count(handle) else { return SQLITE_RANGE }
    var index: Int32 = 1
    for value in values {
      let code = bind(value, at: index)
      guard code == SQLITE_OK else { return code }
      index += 1
    }
    return SQLITE_OK
  }

  /// Ends the run and forgets the values, which may be large.
  func reset() {
    // Repeats the code of the last step, which was reported when it happened.
    sqlite3_reset(handle)
    sqlite3_clear_bindings(handle)
  }

  private func bind(_ value: Value, at index: Int32) -> Int32 {
    switch value {
    case .null:
      return sqlite3_bind_null(handle, index)
    case .integer(let number):
      return sqlite3_bind_int64(handle, index, number)
    case .real(let number):
      return sqlite3_bind_double(handle, index, number)
    case .text(var text):
      return text.withUTF8 { bytes in
        // A null pointer would bind NULL; `sqliteTransient` has SQLite copy the bytes.
        guard let start = bytes.baseAddress else { return sqlite3_bind_text(handle, index, "", 0, sqliteTransient) }
        return start.withMemoryRebound(to: CChar.self, capacity: bytes.count) {
          sqlite3_bind_text64(handle, index, $0, UInt64(bytes.count), sqliteTransient, UInt8(SQLITE_UTF8))
        }
      }
    case .blob(let bytes):
      // An empty array may have no address, which would bind NULL.
      if bytes.isEmpty { return sqlite3_bind_zeroblob(handle, index, 0) }
      return bytes.withUnsafeBytes {
        sqlite3_bind_blob64(handle, index, $0.baseAddress, UInt64($0.count), sqliteTransient)
      }
    }
  }

  /// `SQLITE_TRANSIENT` of sqlite3.h, a cast that Swift does not import.
  private var sqliteTransient: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }
}
