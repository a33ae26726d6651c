import Glibc
import TestSupport
import Testing

@testable import SQLite

@Suite struct OpeningTests {
  @Test func `The files are for the owner only`() async throws {
    try await withNotes { database, path in
      try await add("x", to: database)
      for suffix in ["", "-wal", "-shm", "-turn"] {
        #expect(fileMode(path + suffix) == 0o600, "\(suffix)")
      }
    }
  }

  @Test func `Wider rights are taken away`() async throws {
    try await withNotes { database, path in
      await database.close()
      chmod(path, 0o644)
      let again = try await Database.open(path: path, migrations: notes)
      #expect(fileMode(path) == 0o600)
      await again.close()
    }
  }

  @Test func `Migrations continue where the file is`() async throws {
    try await withNotes { database, path in
      try await add("x", to: database)
      await database.close()
      let more =
        notes + [Migration(version: 2, sql: "ALTER TABLE note ADD COLUMN extra TEXT; UPDATE note SET extra = 'e';")]
      for _ in 0..<2 {
        let again = try await Database.open(path: path, migrations: more)
        let extra = try await again.read { session throws(StoreError) in
          try session.first("SELECT extra FROM note") { $0.text(0) }
        }
        #expect(extra == "e")
        await again.close()
      }
    }
  }

  @Test func `A file belongs to its first service, and one of another program to none`() async throws {
    try await withNotes { database, path in
      await database.close()
      let foreign = await failure { () async throws(StoreError) in
        try await Database.open(path: path, kind: .accounts, migrations: notes)
      }
      #expect(foreign?.code == .otherKind)
      #expect(foreign?.message.contains("the file of another program, not of accounts") == true)
      let own = try await Database.open(path: path + "2", kind: .accounts, migrations: notes)
      await own.close()
      defer { for suffix in ["", "-wal", "-shm", "-turn"] { unlink(path + "2" + suffix) } }
      let other = await failure { () async throws(StoreError) in
        try await Database.open(path: path + "2", kind: .coordinator, migrations: notes)
      }
      #expect(other?.code == .otherKind)
      #expect(other?.message.contains("the file of accounts, not of the coordinator: name another") == true)
      let again = try await Database.open(path: path + "2", kind: .accounts, migrations: notes)
      let id = try await again.read { session throws(StoreError) in
        try session.first("PRAGMA application_id") { $0.int(0) }
      }
      #expect(id == 0x4353_6E02)
      await again.close()
    }
  }

  @Test func `A newer file is refused`() async throws {
    try await withNotes { database, path in
      await database.close()
      let error = await failure { () async throws(StoreError) in try await Database.open(path: path, migrations: [])
      }
      #expect(error?.code == .newerSchema)
      #expect(error?.message.contains("schema version 1, this program knows 0") == true)
    }
  }

  @Test func `A migration that fails leaves the file as it was`() async throws {
    try await withNotes { database, path in
      await database.close()
      let bad = notes + [Migration(version: 2, sql: "CREATE TABLE a (b); CREATE TABL c (d);")]
      let error = await failure { () async throws(StoreError) in try await Database.open(path: path, migrations: bad)
      }
      #expect(error?.code == .migrationFailed)
      #expect(error?.message.contains("migration 2") == true)
      let again = try await Database.open(path: path, migrations: notes)
      let tables = try await again.read { session throws(StoreError) in
        try session.query("SELECT name FROM sqlite_schema WHERE type = 'table'") { $0.text(0) }
      }
      #expect(tables == ["note"])
      await again.close()
    }
  }

  @Test func `Foreign keys hold but for migrations`() async throws {
    let family = [
      Migration(
        version: 1,
        sql: """
          CREATE TABLE parent (id INTEGER PRIMARY KEY);
          CREATE TABLE child (parent INTEGER REFERENCES parent (id));
          INSERT INTO parent VALUES (1);
          INSERT INTO child VALUES (1);
          """)
    ]
    // Rebuilds the parent, the way SQLite's documentation has it: with foreign keys on, dropping it would be refused.
    let rebuilt = Migration(
      version: 2,
      sql: """
        CREATE TABLE other (id INTEGER PRIMARY KEY, name TEXT);
        INSERT INTO other (id) SELECT id FROM parent;
        DROP TABLE parent;
        ALTER TABLE other RENAME TO parent;
        """)
    try await withTemporaryDirectory { directory in
      let path = "\(directory)/x.sqlite"
      await (try Database.open(path: path, migrations: family)).close()
      let bad = Migration(version: 2, sql: "DELETE FROM parent")
      let error = await failure { () async throws(StoreError) in
        try await Database.open(path: path, migrations: family + [bad])
      }
      #expect(error?.code == .migrationFailed)
      #expect(error?.message.contains("child") == true)
      let database = try await Database.open(path: path, migrations: family + [rebuilt])
      let orphan = await failure { () async throws(StoreError) in
        try await database.write { session throws(StoreError) in try session.execute("INSERT INTO child VALUES (7)")
        }
      }
      #expect(orphan?.code == .constraint)
      await database.close()
    }
  }

  @Test func `A migration must not end the transaction`() async throws {
    try await withTemporaryDirectory { directory in
      let bad = [Migration(version: 1, sql: "CREATE TABLE a (b); COMMIT; CREATE TABLE c (d)")]
      let error = await failure { () async throws(StoreError) in
        try await Database.open(path: "\(directory)/x.sqlite", migrations: bad)
      }
      #expect(error?.code == .migrationFailed)
    }
  }

  @Test func `Versions have no gaps`() async throws {
    try await withTemporaryDirectory { directory in
      let error = await failure { () async throws(StoreError) in
        try await Database.open(path: "\(directory)/x.sqlite", migrations: notes + [Migration(version: 3, sql: "")])
      }
      #expect(error?.code == .misuse)
    }
  }

  @Test func `Many may open at once`() async throws {
    try await withTemporaryDirectory { directory in
      let path = "\(directory)/notes.sqlite"
      let opened = try await withThrowingTaskGroup(of: Int.self) { group in
        for number in 0..<8 {
          group.addTask {
            let database = try await Database.open(path: path, migrations: notes)
            try await add("\(number)", to: database)
            await database.close()
            return 1
          }
        }
        return try await group.reduce(0, +)
      }
      #expect(opened == 8)
      let database = try await Database.open(path: path, migrations: notes)
      #expect(try await count(in: database) == 8)
      await database.close()
    }
  }

  @Test func `A missing directory is told`() async throws {
    try await withTemporaryDirectory { directory in
      let error = await failure { () async throws(StoreError) in
        try await Database.open(path: "\(directory)/none/x.sqlite", migrations: notes)
      }
      #expect(error?.code == .cannotOpen)
      #expect(error?.message.contains("\(directory)/none") == true)
      #expect(error?.message.contains("create it") == true)
    }
  }

  /// The superuser may write everywhere but in a read-only file system, such as /proc in effect is.
  @Test func `A directory that cannot be written is told`() async throws {
    try await withTemporaryDirectory { directory in
      chmod(directory, 0o500)
      let place = geteuid() == 0 ? "/proc" : directory
      let error = await failure { () async throws(StoreError) in
        try await Database.open(path: "\(place)/x.sqlite", migrations: notes)
      }
      #expect(error?.code == .notPermitted || error?.code == .cannotOpen)
      #expect(error?.message.contains(place) == true)
    }
  }

  @Test func `Something else is not a database`() async throws {
    try await withTemporaryDirectory { directory in
      let path = "\(directory)/x.sqlite"
      writeFile(path, Array(repeating: UInt8(ascii: "x"), count: 8192))
      let error = await failure { () async throws(StoreError) in
        try await Database.open(path: path, migrations: notes)
      }
      #expect(error?.code == .notADatabase)
      let other = await failure { () async throws(StoreError) in
        try await Database.open(path: directory, migrations: notes)
      }
      #expect(other?.code == .cannotOpen)
    }
  }

  @Test func `A damaged file is reported`() async throws {
    try await withNotes { database, path in
      try await database.write { session throws(StoreError) in
        for number in 0..<2000 { try session.execute("INSERT INTO note (text) VALUES (?)", [Value("note \(number)")]) }
      }
      await database.close()
      writeFile(path, Array(repeating: 0xA5, count: fileSize(path) - 4096), at: 4096)
      let error = await failure { () async throws(StoreError) in
        let again = try await Database.open(path: path, migrations: notes)
        let error = await failure { () async throws(StoreError) in try await add("x", to: again) }
        await again.close()
        if let error { throw error }
      }
      #expect(error?.code == .damaged)
      #expect(error?.message.contains("restore it") == true)
    }
  }

  @Test(arguments: ["", ":memory:"])
  func `A database needs a file`(path: String) async throws {
    let error = await failure { () async throws(StoreError) in try await Database.open(path: path, migrations: notes)
    }
    #expect(error?.code == .misuse)
  }

  @Test func `A full disk is told and mended`() async throws {
    try await withNotes { database, _ in
      let pages = try await database.write { session throws(StoreError) in
        try session.first("PRAGMA max_page_count = 4") { $0.int(0) }
      }
      #expect(pages == 4)
      let big = String(repeating: "x", count: 100_000)
      let error = await failure { () async throws(StoreError) in try await add(big, to: database) }
      #expect(error?.code == .full)
      #expect(error?.isRetriable == true)
      _ = try await database.write { session throws(StoreError) in
        try session.first("PRAGMA max_page_count = 4000") { $0.int(0) }
      }
      try await add(big, to: database)
      #expect(try await count(in: database) == 1)
    }
  }
}
