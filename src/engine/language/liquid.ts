import { Liquid } from 'liquidjs'
import { parseInstant } from '../../platform/zoned-time.ts'

/** Text, numbers, lists and dates. Nothing that reads a clock, draws lots, or runs an expression of its own. */
const FILTERS = `
  append prepend capitalize downcase upcase strip lstrip rstrip squish slugify truncate truncatewords
  replace replace_first replace_last remove remove_first remove_last strip_newlines strip_html escape number_of_words
  split slice size default json url_encode url_decode base64_encode base64_decode
  plus minus times divided_by modulo abs round ceil floor at_least at_most to_integer
  join first last reverse sort sort_natural uniq map where reject find compact concat push sum date
`
  .trim()
  .split(/\s+/)

/** What one template may allocate, in characters and list entries. Replaces a limit in time, which differs per machine. */
const MEMORY_LIMIT = 1_000_000
export const TEMPLATE_LENGTH_MAX = 65_536

/**
 * Placeholders alone: every tag and every filter outside the list is unknown to it, so that it knows neither files nor
 * loops.
 */
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
 * The library reads `now` off the machine's clock, and a time without an offset by the machine's zone. Here `now` is
 * the recorded time of the step, and the zone that of the workflow.
 */
liquid.registerFilter('date', function (value: unknown, ...rest: unknown[]) {
  const { opts, environments } = this.context
  const timezone = typeof opts.timezoneOffset === 'string' ? opts.timezoneOffset : 'UTC'
  const given = value === 'now' || value === 'today' ? environments['now'] : value
  const ms = typeof given === 'string' ? parseInstant(given, timezone) : undefined
  if (typeof given === 'string' && ms === undefined && !/^\d+$/.test(given)) return value
  return typeof formatDate === 'function' ? formatDate.call(this, ms === undefined ? given : ms / 1000, ...rest) : value
})
