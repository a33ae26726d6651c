import Testing

@testable import Simulation

@Suite struct SMPPSubmissionTests {
  private struct Body {
    var serviceType = ""
    var source: [UInt8] = [5, 0] + Array("Example".utf8) + [0]
    var destination: [UInt8] = [1, 1] + Array("393471234567".utf8) + [0]
    var esmClass: UInt8 = 0
    var priority: UInt8 = 0
    var schedule = ""
    var validity = "000000000500000R"
    var registered: UInt8 = 1
    var replace: UInt8 = 0
    var dataCoding: UInt8 = 0
    var message: [UInt8] = Array("482913".utf8)
    var more: [UInt8] = []

    var bytes: [UInt8] {
      Array(serviceType.utf8) + [0] + source + destination + [esmClass, 0, priority] + Array(schedule.utf8) + [0]
        + Array(validity.utf8) + [0, registered, replace, dataCoding, 0, UInt8(message.count)] + message + more
    }
  }

  private func status(_ change: (inout Body) -> Void) -> UInt32 {
    var body = Body()
    change(&body)
    do throws(SMPPRefusal) {
      _ = try SMPPSubmission(body.bytes)
      return 0
    } catch {
      return error.status
    }
  }

  @Test func `A good one is taken`() {
    #expect(status { _ in } == 0)
    #expect(status { $0.validity = "" } == 0)
    #expect(status { $0.message = [UInt8](repeating: 0x61, count: 160) } == 0)
    #expect(status { ($0.dataCoding, $0.message) = (8, [UInt8](repeating: 4, count: 140)) } == 0)
    #expect(status { ($0.message, $0.more) = ([], [0x04, 0x24, 0, 2, 0x61, 0x62]) } == 0)
  }

  @Test func `Each field is looked at`() {
    #expect(status { $0.serviceType = "CMT" } == 0x15)
    #expect(status { $0.esmClass = 0x03 } == 0x43)
    #expect(status { $0.priority = 4 } == 0x06)
    #expect(status { $0.schedule = "261122080000000+" } == 0x61)
    #expect(status { $0.validity = "261122080000000+" } == 0x62)
    #expect(status { $0.validity = "000000000000000R" } == 0x62)
    #expect(status { $0.registered = 2 } == 0x07)
    #expect(status { $0.replace = 1 } == 0x54)
    #expect(status { $0.dataCoding = 3 } == 0x104)
    #expect(status { $0.source = [2, 0] + Array("Example".utf8) + [0] } == 0x48)
    #expect(status { $0.destination = [1, 1] + Array("0123".utf8) + [0] } == 0x0B)
  }

  @Test func `Lengths are bounded`() {
    #expect(status { $0.message = [] } == 0x01)
    #expect(status { $0.message = [UInt8](repeating: 0x61, count: 161) } == 0x01)
    #expect(status { ($0.dataCoding, $0.message) = (8, [UInt8](repeating: 4, count: 142)) } == 0x01)
    func part(_ header: [UInt8], _ count: Int) -> UInt32 {
      status {
        $0.esmClass = 0x40
        $0.message = header + [UInt8](repeating: 0x61, count: count)
      }
    }
    #expect(part([5, 0, 3, 7, 2, 1], 153) == 0)
    #expect(part([5, 0, 3, 7, 2, 1], 154) == 0x01)
    #expect(part([5, 0, 3, 7, 2, 1], 0) == 0x01)
    // A part that is none of them, a part of one, another header.
    #expect(part([5, 0, 3, 7, 2, 3], 10) == 0x43)
    #expect(part([5, 0, 3, 7, 1, 1], 10) == 0x43)
    #expect(part([6, 8, 4, 0, 7, 2, 1], 10) == 0x43)
  }

  @Test func `Optional parameters are few`() {
    #expect(status { $0.more = [0x04, 0x24, 0, 2, 0x61] } == 0xC0)
    #expect(status { $0.more = [0x02, 0x04, 0, 2, 0, 1] } == 0xC1)
    // A text in two places.
    #expect(status { $0.more = [0x04, 0x24, 0, 1, 0x61] } == 0x01)
  }

  @Test func `Truncated submissions are refused`() {
    let whole = Body().bytes
    for count in 0..<whole.count {
      #expect(throws: SMPPRefusal.self) { try SMPPSubmission(Array(whole.prefix(count))) }
    }
  }
}
