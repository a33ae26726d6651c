/// A date of the proleptic Gregorian calendar. The arithmetic is the one of RFC 3339, appendix B.
public struct CalendarDate: Sendable, Hashable {
  public let year: Int
  /// 1 to 12.
  public let month: Int
  /// 1 to 31.
  public let day: Int

  /// - Returns: `nil` for a date that the calendar does not have.
  public init?(year: Int, month: Int, day: Int) {
    guard (1...12).contains(month), day >= 1, day <= Self.days(inMonth: month, ofYear: year) else { return nil }
    self.year = year
    self.month = month
    self.day = day
  }

  /// The inverse of ``daysSince1970``.
  public init(daysSince1970 day: Int) {
    let shifted = day + Self.daysBefore1970
    let era = (shifted >= 0 ? shifted : shifted - (Self.daysOfEra - 1)) / Self.daysOfEra
    let dayOfEra = shifted - era * Self.daysOfEra
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    self.day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
  }

  /// Days from 1970-01-01, negative before it. Years begin in March here, so that the leap day is the last of its year.
  public var daysSince1970: Int {
    let marchYear = month <= 2 ? year - 1 : year
    let era = (marchYear >= 0 ? marchYear : marchYear - 399) / 400
    let yearOfEra = marchYear - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * Self.daysOfEra + dayOfEra - Self.daysBefore1970
  }

  private static func days(inMonth month: Int, ofYear year: Int) -> Int {
    switch month {
    case 2: (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Days of 400 years, after which the calendar repeats itself.
  private static let daysOfEra = 146_097
  private static let daysBefore1970 = 719_468
}
