import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import PasswordHashing
import TestSupport
import Testing

@testable import CommandLine

@Suite struct AccountFileTests {
  /// As `firebase auth:export users.json` writes it.
  private static let json = #"""
    {"users": [
    {
      "localId": "UpvCYfUCyhZ9Xv7aIKTWsCrKqg43",
      "email": "ada@example.com",
      "emailVerified": true,
      "passwordHash": "lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==",
      "salt": "42xEC+ixf3L2lw==",
      "displayName": "Ada \"the first\" Lovelace}",
      "photoUrl": "https://example.com/ada.png",
      "lastSignedInAt": "1486324027000",
      "createdAt": "1486324026000",
      "phoneNumber": "+14155550123",
      "disabled": true,
      "customAttributes": "{\"admin\":true}",
      "providerUserInfo": [
        {
          "providerId": "google.com",
          "rawId": "1234",
          "email": "ada@gmail.com",
          "displayName": "Ada",
          "photoUrl": "https://example.com/g.png"
        }
      ]
    },
    {
      "localId": "two",
      "salt": null,
      "createdAt": 1486324026000,
      "providerUserInfo": []
    }]}
    """#

  /// As `firebase auth:export users.csv` writes it, quotation marks within names included.
  private static let csv = [
    "UpvCYfUCyhZ9Xv7aIKTWsCrKqg43,ada@example.com,true,"
      + "lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==,42xEC+ixf3L2lw==,"
      + #""Lovelace, "Ada" the first",https://example.com/ada.png,1234,ada@gmail.com,Ada,https://example.com/g.png,"#
      + #",,,,,,,,77,,,,1486324026000,1486324027000,+14155550123,true,"{""admin"":""\"yes\"""}","#,
    "two,,false,,,,,,,,,,,,,,,,,,,,,1486324026000,,,,,", "three,,,,,,,,,,,,,,,,,,,,,,,,,",
  ].map { $0 + "\n" }.joined()

  private func rows(_ content: [UInt8], _ format: AccountFileFormat) async throws -> [AccountFileRow] {
    try await withTemporaryDirectory { directory in
      let path = "\(directory)/users"
      try Data(content).write(to: URL(filePath: path))
      var reader = try AccountFileReader(path: path, format: format)
      var rows: [AccountFileRow] = []
      while let row = try reader.next() { rows.append(row) }
      return rows
    }
  }

  private func rows(_ content: String, _ format: AccountFileFormat) async throws -> [AccountFileRow] {
    try await rows(Array(content.utf8), format)
  }

  @Test func `A JSON file of Firebase`() async throws {
    let rows = try await rows(Self.json, .json)
    #expect(rows.map(\.line) == [2, 25])
    let ada = try rows[0].user.get()
    #expect(ada.localID == "UpvCYfUCyhZ9Xv7aIKTWsCrKqg43")
    #expect(ada.displayName == #"Ada "the first" Lovelace}"#)
    #expect(ada.passwordHash.flatMap(Base64.decode)?.count == 64)
    #expect(ada.salt == "42xEC+ixf3L2lw==")
    #expect(ada.emailVerified == true)
    #expect(ada.disabled == true)
    #expect(ada.createdAt == UnixTime(milliseconds: 1_486_324_026_000))
    #expect(ada.lastLoginAt == UnixTime(milliseconds: 1_486_324_027_000))
    #expect(ada.customAttributes == #"{"admin":true}"#)
    var google = UserIdentity(providerID: "google.com", subject: "1234")
    (google.email, google.displayName, google.photoURL) = ("ada@gmail.com", "Ada", "https://example.com/g.png")
    #expect(ada.identities == [google])
    var two = UserFields(localID: "two")
    two.createdAt = UnixTime(milliseconds: 1_486_324_026_000)
    #expect(try rows[1].user.get() == two)
  }

  @Test func `A CSV file of Firebase, with 26 columns or 28`() async throws {
    let rows = try await rows(Self.csv, .csv)
    #expect(rows.map(\.line) == [1, 2, 3])
    let ada = try rows[0].user.get()
    #expect(ada.displayName == #"Lovelace, "Ada" the first"#)
    #expect(ada.customAttributes == #"{"admin":"\"yes\""}"#)
    #expect(ada.disabled == true)
    #expect(ada.phoneNumber == "+14155550123")
    #expect(ada.createdAt == UnixTime(milliseconds: 1_486_324_026_000))
    #expect(ada.lastLoginAt == UnixTime(milliseconds: 1_486_324_027_000))
    #expect(ada.identities?.map(\.providerID) == ["google.com", "github.com"])
    #expect(ada.identities?.map(\.subject) == ["1234", "77"])
    #expect(try rows[1].user.get().emailVerified == false)
    #expect(try rows[2].user.get() == UserFields(localID: "three"))
  }

  @Test func `Line ends of Windows, and none at the end`() async throws {
    let content = "one" + String(repeating: ",", count: 25) + "\r\n\r\n\"two\"" + String(repeating: ",", count: 27)
    let rows = try await rows(content, .csv)
    #expect(try rows.map { try $0.user.get().localID } == ["one", "two"])
    #expect(rows.map(\.line) == [1, 3])
  }

  @Test(
    arguments: [
      (#"{"email":"a@b.c"}"#, "localId is missing, or longer than 128 bytes"),
      (#"{"localId":1}"#, "localId is not a text"),
      (#"{"localId":"a","passwordHash":"%"}"#, "passwordHash is not base64"),
      (#"{"localId":"a","salt":"%"}"#, "salt is not base64"),
      (#"{"localId":"a","createdAt":"soon"}"#, "createdAt is not a time in milliseconds"),
      (#"{"localId":"a","createdAt":-1}"#, "createdAt is not a time in milliseconds"),
      (#"{"localId":"a","disabled":"maybe"}"#, "disabled is neither true nor false"),
      (#"{"localId":"a","tenantId":"b"}"#, "has a member that is not imported: tenantId"),
      (#"{"localId":"a","mfaInfo":{}}"#, "mfaInfo is not a list"),
      (#"{"localId":"a","mfaInfo":[{}]}"#, "mfaInfo has an entry with neither mfaEnrollmentId nor phoneInfo"),
      (
        #"{"localId":"a","mfaInfo":[{"mfaEnrollmentId":"e","phoneInfo":""}]}"#,
        "mfaInfo has an entry with neither phoneInfo nor totpInfo"
      ),
      (#"{"localId":"a","mfaInfo":[{"emailInfo":{}}]}"#, "has a member that is not imported: emailInfo"),
      (
        #"{"localId":"a","mfaInfo":[{"phoneInfo":"+1","enrolledAt":"soon"}]}"#,
        "enrolledAt is not a time as in RFC 3339"
      ),
      (#"{"localId":"a","+1415":1}"#, "has a member that is not imported"),
      (#"{"localId":"a","providerUserInfo":{}}"#, "providerUserInfo is not a list"),
      (#"{"localId":"a","providerUserInfo":[1]}"#, "providerUserInfo has something that is not an object"),
      (#"{"localId":"a","providerUserInfo":[{"providerId":"google.com"}]}"#, "rawId is missing"),
      (#"{"localId":"a","countersignHash":"x"}"#, "countersignHash is not one"),
      (#"{"localId":"a" "b"}"#, "is not valid JSON"),
      (#"{"localId":"a","localId":"b"}"#, "has a name twice in one object"),
    ])
  func `A wrong user of a JSON file costs its row only`(user: String, reason: String) async throws {
    let rows = try await rows(#"{"users":[{"localId":"1"},"# + "\n" + user + #",{"localId":"3"}]}"#, .json)
    #expect(rows.map(\.line) == [1, 2, 2])
    #expect(throws: AccountFileError(reason)) { try rows[1].user.get() }
    #expect(try rows[2].user.get().localID == "3")
  }

  @Test(
    arguments: [
      ("a,b", "has 2 columns rather than 26 to 29"),
      (String(repeating: ",", count: 40), "has 41 columns rather than 26 to 29"),
      ("\"open" + String(repeating: ",", count: 25), "a quotation mark is not closed, or the row is too long"),
      (String(repeating: "x", count: 70_000), "a quotation mark is not closed, or the row is too long"),
      (String(repeating: ",", count: 25), "localId is missing, or longer than 128 bytes"),
      ("a,,yes" + String(repeating: ",", count: 23), "emailVerified is neither true nor false"),
      ("a" + String(repeating: ",", count: 28) + "x", "is not valid JSON"),
      ("a" + String(repeating: ",", count: 28) + "1", "ProviderUserInfo is not a list"),
    ])
  func `A wrong row of a CSV file costs its line only`(row: String, reason: String) async throws {
    let good = String(repeating: ",", count: 27)
    let rows = try await rows("one\(good)\n\(row)\nthree\(good)\n", .csv)
    #expect(rows.map(\.line) == [1, 2, 3])
    #expect(throws: AccountFileError(reason)) { try rows[1].user.get() }
    #expect(try rows[2].user.get().localID == "three")
  }

  @Test func `A quotation mark that closes in a later row costs its line only`() async throws {
    let columns = String(repeating: ",", count: 27)
    let two = "two,,,,,\"b, c\",,,,,,,,,,,,,,,,,,,,,,"
    for open in ["\"open\"\"", "a,\"open\"\"", "a,,,,,\"open", "a,,,,,,,,,,,,,,,,,,,,,\"open"] {
      let rows = try await rows("\(open)\(columns.dropLast(open.count { $0 == "," }))\n\(two)\nthree\(columns)", .csv)
      #expect(rows.map(\.line) == [1, 2, 3])
      #expect(throws: AccountFileError.self) { try rows[0].user.get() }
      #expect(try rows[1...].map { try $0.user.get().localID } == ["two", "three"])
    }
  }

  @Test func `Bytes that are not UTF-8 cost their row only`() async throws {
    let row = [UInt8(ascii: "a"), 0xFF] + [UInt8](repeating: UInt8(ascii: ","), count: 27)
    let rows = try await rows(row + Array("\nb,,,,,,,,,,,,,,,,,,,,,,,,,".utf8), .csv)
    #expect(throws: AccountFileError("is not UTF-8")) { try rows[0].user.get() }
    #expect(try rows[1].user.get().localID == "b")
  }

  @Test func `A user beyond the bound costs its row only`() async throws {
    let long = #"{"localId":"a","displayName":""# + String(repeating: "}", count: 700_000) + #""}"#
    let rows = try await rows(#"{"users":["# + long + #",{"localId":"b"}]}"#, .json)
    #expect(throws: AccountFileError("is longer than 65536 bytes")) { try rows[0].user.get() }
    #expect(try rows[1].user.get().localID == "b")
  }

  @Test(
    arguments: [
      "", "[]", #"{"users":{}}"#, #"{"people":[]}"#, #"{"users":[{"localId":"a"}"#, #"{"users":[{"localId":"a"},"#,
      #"{"users":[{"localId":"a"}] "#, #"{"users":[{"localId":"a"}]} {"#, #"{"users":[{"localId":"a"},]}"#,
      #"{"users":[{"localId":"a"#, #"{"users":[{"localId":"a"}{"localId":"b"}]}"#, #"{"users":[1]}"#,
      "\u{FEFF}{\"users\":[]}",
    ])
  func `A JSON file that is cut off, or is something else, is refused`(content: String) async throws {
    await #expect(throws: CommandLineError.self) { try await rows(content, .json) }
  }

  @Test func `A file without users has none`() async throws {
    #expect(try await rows("{\"users\": [\n]}", .json).isEmpty)
    #expect(try await rows("", .csv).isEmpty)
    #expect(throws: CommandLineError.self) { try AccountFileReader(path: "/nowhere/users.csv", format: .csv) }
  }

  @Test func `Rows on both sides of a chunk's end are read`() async throws {
    let users = (0..<5_000).map { #"{"localId":"\#($0)","displayName":"\#(String(repeating: "n", count: $0 % 211))"}"# }
    let json = try await rows("{\"users\": [\n" + users.joined(separator: ",\n") + "]}", .json)
    #expect(try json.map { try $0.user.get().localID } == (0..<5_000).map(String.init))
    #expect(json.map(\.line) == Array(2...5_001))
    let lines = (0..<5_000).map {
      "\($0),,,,," + String(repeating: "n", count: $0 % 211) + String(repeating: ",", count: 22)
    }
    let csv = try await rows(lines.joined(separator: "\n"), .csv)
    #expect(try csv.map { try $0.user.get().localID } == (0..<5_000).map(String.init))
    #expect(csv.map(\.line) == Array(1...5_000))
  }

  @Test func `Second factors of a JSON file, and none`() async throws {
    let users = [
      #"""
      [{"mfaEnrollmentId":"e-1","displayName":"Work","phoneInfo":"+14155550100",
      "enrolledAt":"2026-07-01T12:00:00.500Z"},{"mfaEnrollmentId":"e-2","totpInfo":{}}]
      """#,
      #"[{"phoneInfo":"+*******0123","unobfuscatedPhoneInfo":"+14155550123"}]"#,
      #"[{"phoneInfo":"+14155550123","unobfuscatedPhoneInfo":""}]"#, "[]", "null",
    ].enumerated().map { #"{"localId":"\#($0)","mfaInfo":\#($1)}"# }
    let factors = try await rows(#"{"users":[\#(users.joined(separator: ","))]}"#, .json)
      .map { try $0.user.get().secondFactors }
    var work = UserSecondFactor(enrollmentID: "e-1", phoneNumber: "+14155550100")
    (work.displayName, work.enrolledAt) = ("Work", UnixTime(milliseconds: 1_782_907_200_500))
    #expect(factors[0] == [work, UserSecondFactor(enrollmentID: "e-2")])
    #expect(factors[1...2] == [[UserSecondFactor(phoneNumber: "+14155550123")], factors[1]])
    #expect(factors[3...] == [[], nil])
  }

  // MARK: What is written

  private func account(_ id: String) -> AccountView {
    let time = UnixTime(milliseconds: 1_486_324_026_123)
    var account = AccountView(localID: id, createdAt: time, lastLoginAt: time, validSince: time)
    account.displayName = "Lovelace, \"Ada\"\nthe first"
    (account.email, account.emailVerified, account.phoneNumber) = ("ada@example.com", true, "+14155550123")
    (account.photoURL, account.customAttributes) = ("https://example.com/a,b", #"{"role":"a\",\"b"}"#)
    account.disabled = true
    account.identities = ["apple.com", "google.com", "oidc.own"].map { provider in
      var identity = IdentityView(providerID: provider, subject: "s,\(provider)", linkedAt: time)
      identity.displayName = "\"Ada\""
      return identity
    }
    var phone = SecondFactorView(enrollmentID: "e-1", kind: .phone, enrolledAt: time)
    (phone.phoneNumber, phone.displayName) = ("+14155550199", "\"Work\"")
    account.secondFactors = [phone, SecondFactorView(enrollmentID: "e-2", kind: .totp, enrolledAt: time)]
    return account
  }

  @Test(arguments: AccountFileFormat.allCases)
  func `A file that was written is read again`(format: AccountFileFormat) async throws {
    let hash = try PasswordHash.make(Secret("correct horse"))
    try await withTemporaryDirectory { directory in
      let path = "\(directory)/users"
      var writer = try AccountFileWriter(path: path, format: format)
      for number in 0..<1_000 { try writer.write(account("\(number)"), hash: number.isMultiple(of: 2) ? hash : nil) }
      try writer.finish()
      #expect(throws: CommandLineError.self) { try AccountFileWriter(path: path, format: format) }
      var reader = try AccountFileReader(path: path, format: format)
      var count = 0
      while let row = try reader.next() {
        let user = try row.user.get()
        #expect(user.localID == "\(count)")
        #expect(row.hasOwnHash == (format == .json && count.isMultiple(of: 2)))
        check(user, hash: count.isMultiple(of: 2) ? hash : nil, format)
        count += 1
      }
      #expect(count == 1_000)
    }
  }

  private func check(_ user: UserFields, hash: PasswordHash?, _ format: AccountFileFormat) {
    let wanted = account("")
    #expect(user.displayName == wanted.displayName)
    #expect(user.email == wanted.email)
    #expect(user.emailVerified == true)
    #expect(user.phoneNumber == wanted.phoneNumber)
    #expect(user.photoURL == wanted.photoURL)
    #expect(user.customAttributes == wanted.customAttributes)
    #expect(user.disabled == true)
    #expect(user.createdAt == wanted.createdAt)
    #expect(user.lastLoginAt == wanted.lastLoginAt)
    #expect(user.identities?.map(\.subject).sorted() == wanted.identities?.map(\.subject))
    #expect(user.identities?.allSatisfy { $0.displayName == "\"Ada\"" } == true)
    // CSV has no column for them.
    let factors = format == .csv ? nil : wanted.secondFactors
    #expect(user.secondFactors?.map(\.enrollmentID) == factors?.map(\.enrollmentID))
    #expect(user.secondFactors?.map(\.phoneNumber) == factors?.map(\.phoneNumber))
    #expect(user.secondFactors?.map(\.displayName) == factors?.map(\.displayName))
    #expect(user.secondFactors?.map(\.enrolledAt) == factors?.map(\.enrolledAt))
    let exported = hash?.exported
    let raw = exported.map { Base64.encode($0.hash) }
    #expect(user.passwordHash == (format == .csv ? raw : hash.map { Base64.encode(Array($0.stored.utf8)) }))
    #expect(user.salt == (format == .csv ? exported.map { Base64.encode($0.salt) } : nil))
  }
}
