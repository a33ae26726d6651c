import CSQLite

/// A prepared statement. Belongs to its connection's thread.
final class Statement {
  let handle: OpaquePointer
  /// Set while its rows are being read: a nested use of the same SQL needs a statement of its own.
  var isInUse = false
  /// In uses of the cache.
  var lastUse: UInt64 = 0
  /// The bytes of the bound texts and blobs, which SQLite would otherwise copy one by one into memory of its own.
  private var room = UnsafeMutableRawBufferPointer(start: nil, count: 0)

  /// SQLite copies larger values.
  private static let maxRoom = 1 << 16

  init(_ handle: OpaquePointer) {
    self.handle = handle
  }

  deinit {
    // Repeats the code of the last failure, which was reported when it happened.
    sqlite3_finalize(handle)
    room.deallocate()
  }

  func bind(_ values: [Value]) -> Int32 {
    guard Int32(values.count) == sqlite3_bind_parameter_count(handle) else { return SQLITE_RANGE }
    var free = makeRoom(for: values)
    var index: Int32 = 1
    for value in values {
      let code = bind(value, at: index, &free)
      guard code == SQLITE_OK else { return code }
      index += 1
    }
    return SQLITE_OK
  }

  /// Makes room for the bytes of all values, so that it moves under none of them.
  private func makeRoom(for values: [Value]) -> UnsafeMutableRawBufferPointer.SubSequence {
    var size = 0
    for value in values {
      switch value {
      case .text(let text): size += text.utf8.count
      case .blob(let bytes): size += bytes.count
      case .null, .integer, .real: break
      }
    }
    guard size <= Self.maxRoom else { return room[..<0] }
    if size > room.count {
      room.deallocate()
      room = .allocate(byteCount: min(2 * size, Self.maxRoom), alignment: 1)
    }
    return room[...]
  }

  /// Ends the run and lets go of the values: SQLite frees those that it has copied. The bytes of the others stay in
  /// `room` until the next values take their place or the statement ends; nothing reads them there.
  func reset() {
    // Repeats the code of the last step, which was reported when it happened.
    sqlite3_reset(handle)
    sqlite3_clear_bindings(handle)
  }

  private func bind(
    _ value: Value, at index: Int32, _ free: inout UnsafeMutableRawBufferPointer.SubSequence
  ) -> Int32 {
    switch value {
    case .null: sqlite3_bind_null(handle, index)
    case .integer(let number): sqlite3_bind_int64(handle, index, number)
    case .real(let number): sqlite3_bind_double(handle, index, number)
    // A null pointer would bind NULL, and an empty text or array may have no address.
    case .text(let text) where text.isEmpty: sqlite3_bind_text(handle, index, "", 0, sqliteTransient)
    case .blob(let bytes) where bytes.isEmpty: sqlite3_bind_zeroblob(handle, index, 0)
    case .text(var text):
      text.withUTF8 {
        keep(UnsafeRawBufferPointer($0), &free) { bytes, destructor in
          sqlite3_bind_text64(
            handle, index, bytes.bindMemory(to: CChar.self).baseAddress, UInt64(bytes.count), destructor,
            UInt8(SQLITE_UTF8))
        }
      }
    case .blob(let bytes):
      bytes.withUnsafeBytes {
        keep($0, &free) { bytes, destructor in
          sqlite3_bind_blob64(handle, index, bytes.baseAddress, UInt64(bytes.count), destructor)
        }
      }
    }
  }

  /// Binds bytes where they stay until the next values take their place. Without room, SQLite copies them.
  private func keep(
    _ bytes: UnsafeRawBufferPointer, _ free: inout UnsafeMutableRawBufferPointer.SubSequence,
    _ bind: (UnsafeRawBufferPointer, sqlite3_destructor_type?) -> Int32
  ) -> Int32 {
    guard bytes.count <= free.count else { return bind(bytes, sqliteTransient) }
    let kept = UnsafeMutableRawBufferPointer(rebasing: free.prefix(bytes.count))
    kept.copyMemory(from: bytes)
    free = free.dropFirst(bytes.count)
    // Without a destructor they are SQLITE_STATIC.
    return bind(UnsafeRawBufferPointer(kept), nil)
  }

  /// `SQLITE_TRANSIENT` of sqlite3.h, a cast that Swift does not import.
  private var sqliteTransient: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }
}
