/** Days for which events are kept at most. */
export const EVENT_DAYS_MAX = 7
