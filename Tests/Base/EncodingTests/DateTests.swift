import CountersignEncoding
import Testing

@Suite struct DateTests {
  @Test func `Every day of 1,200 years follows the one before it`() throws {
    let first = try #require(CalendarDate(year: 1600, month: 1, day: 1)).daysSince1970
    let last = try #require(CalendarDate(year: 2800, month: 1, day: 1)).daysSince1970
    #expect(last - first == 3 * 146_097)
    var before = CalendarDate(daysSince1970: first - 1)
    for day in first...last {
      let date = CalendarDate(daysSince1970: day)
      #expect(date.daysSince1970 == day)
      let isNext =
        (date.year, date.month, date.day) == (before.year, before.month, before.day + 1)
        || (date.month, date.day) == (before.month % 12 + 1, 1)
      #expect(isNext, "\(date) after \(before)")
      before = date
    }
  }

  @Test(
    arguments: [(2026, 0, 1), (2026, 13, 1), (2026, 1, 0), (2026, 1, 32), (2026, 4, 31), (2026, 2, 29), (1900, 2, 29)])
  func `Dates that the calendar does not have`(year: Int, month: Int, day: Int) {
    #expect(CalendarDate(year: year, month: month, day: day) == nil)
  }

  @Test(
    arguments: [
      (0, "Thu, 01 Jan 1970 00:00:00 +0000"), (1_795_276_525, "Sat, 21 Nov 2026 15:55:25 +0000"),
      (951_782_400, "Tue, 29 Feb 2000 00:00:00 +0000"), (-1, "Wed, 31 Dec 1969 23:59:59 +0000"),
      (784_111_777, "Sun, 06 Nov 1994 08:49:37 +0000"),
    ] as [(Int64, String)])
  func `Dates of mails`(seconds: Int64, text: String) {
    #expect(MailDate.text(seconds) == text)
  }
}
