import { Liquid } from 'liquidjs'
import { parseInstant } from '../../platform/calendar/zoned-time.ts'
import { chargeFilter } from './filter-work.ts'

/** Filters for texts, numbers, lists and dates. None reads a clock, draws lots or evaluates an expression. */
const FILTERS = `
  append prepend capitalize downcase upcase strip lstrip rstrip squish slugify truncate truncatewords
  replace replace_first replace_last remove remove_first remove_last strip_newlines strip_html escape number_of_words
  split slice size default json url_encode url_decode base64_encode base64_decode
  plus minus times divided_by modulo abs round ceil floor at_least at_most to_integer
  join first last reverse sort sort_natural uniq map where reject find compact concat push sum date
`
  .trim()
  .split(/\s+/)

/** Allocation limit of one template, in characters and list entries. A time limit would differ between machines. */
const MEMORY_LIMIT = 1_000_000
export const TEMPLATE_LENGTH_MAX = 65_536

/** Supports placeholders only: all statements and all filters outside the list are removed, including files and loops. */
export const liquid = new Liquid({
  ownPropertyOnly: true,
  strictFilters: true,
  parseLimit: TEMPLATE_LENGTH_MAX,
  memoryLimit: MEMORY_LIMIT,
  locale: 'en-US',
  dateFormat: '%Y-%m-%d',
  timezoneOffset: 'UTC',
  templates: {},
})

for (const tag of Object.keys(liquid.tags)) delete liquid.tags[tag]
const formatDate = liquid.filters['date']
for (const name of Object.keys(liquid.filters)) if (!FILTERS.includes(name)) liquid.unregisterFilter(name)

/**
 * Formats dates. The library's own filter uses the machine's clock and time zone; here `now` is the recorded time of the
 * step, and the zone is the workflow's.
 */
liquid.registerFilter('date', function (value: unknown, ...rest: unknown[]) {
  const { opts, environments } = this.context
  const timezone = typeof opts.timezoneOffset === 'string' ? opts.timezoneOffset : 'UTC'
  const input = value === 'now' || value === 'today' ? environments['now'] : value
  const ms = typeof input === 'string' ? parseInstant(input, timezone) : undefined
  if (typeof input === 'string' && ms === undefined && !/^\d+$/.test(input)) return value
  return typeof formatDate === 'function' ? formatDate.call(this, ms === undefined ? input : ms / 1000, ...rest) : value
})

for (const name of FILTERS) {
  const filter = liquid.filters[name]
  if (typeof filter !== 'function') throw new TypeError(`the filter ${name} is not a function`)
  liquid.registerFilter(name, function (value: unknown, ...rest: unknown[]) {
    chargeFilter(name, [value, ...rest])
    return filter.call(this, value, ...rest)
  })
}
