/** Days for which events are kept at most. */
export const EVENT_DAYS_MAX = 7

/** Providers repeat a call for up to a week, and stored messages and runs show that it has been processed. */
export const REPEAT_DAYS = 8
