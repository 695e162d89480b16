# Randomize an answer on the respondent's own device: base R, nothing to install.
# Written by mechdesign from the mechanism with the fingerprint
# @@FINGERPRINT@@
# @@HEADER@@
# Change nothing below: "mechdesign audit" compares this file.
#
#   randomize(answer)           one report
#   randomize(answer, source)   the same from other random bytes; source(count) returns a raw vector. For tests.
#   rows(report)                the report as rows of a table: one JSON line each for "mechdesign estimate"
#   remember(answer, path)      for joint and weekly responses: draw the permanent response, once, into a file
#   report(path)                the next report from it
#
# Numbers up to 2^62 are pairs c(high, low) of limbs with 31 bits each, which doubles hold exactly.

.mechdesign <- local({
  SHEET <- @@SHEET@@
  RECIPE <- SHEET$recipe
  OWNER <- if (is.null(SHEET$survey)) SHEET$fingerprint else paste0(SHEET$fingerprint, " survey=", SHEET$survey)
  LIMB <- 2^31
  TOTAL <- c(LIMB, 0)
  state <- new.env()

  # Whole numbers in two limbs

  known <- new.env()
  whole <- function(text) {
    found <- known[[text]]
    if (is.null(found)) assign(text, found <- read_whole(text), known)
    found
  }
  read_whole <- function(text) {
    part <- strtoi(substring(text, c(1, 5, 9, 13), c(4, 8, 12, 16)), 16L)
    low <- part[3] * 65536 + part[4]
    c((part[1] * 65536 + part[2]) * 2 + low %/% LIMB, low %% LIMB)
  }
  limbs <- function(number) c(number %/% LIMB, number %% LIMB)
  plain <- function(x) x[1] * LIMB + x[2]
  less <- function(x, y) x[1] < y[1] || (x[1] == y[1] && x[2] < y[2])
  minus <- function(x, y) {
    low <- x[2] - y[2]
    if (low < 0) c(x[1] - y[1] - 1, low + LIMB) else c(x[1] - y[1], low)
  }
  plus <- function(x, y) {
    low <- x[2] + y[2]
    c(x[1] + y[1] + low %/% LIMB, low %% LIMB)
  }
  binary <- function(x) c(x[1] %/% 2^(30:0) %% 2, x[2] %/% 2^(30:0) %% 2)
  times <- function(x, small) {
    low <- x[2] * small
    c(x[1] * small + low %/% LIMB, low %% LIMB)
  }
  # The remainder by a number below 2^52: ten binary digits at a time below 2^42, else one
  remainder <- function(x, size) {
    rest <- x[1] %% size
    if (size > 2^42) {
      for (bit in binary(x)[32:62]) rest <- (rest * 2 + bit) %% size
      return(rest)
    }
    for (part in c(x[2] %/% 2^21, x[2] %/% 2^11 %% 2^10, x[2] %/% 2 %% 2^10)) rest <- (rest * 2^10 + part) %% size
    (rest * 2 + x[2] %% 2) %% size
  }
  # The quotient, below 2^24: guessed in doubles, and corrected in whole numbers
  quotient <- function(x, y) {
    guess <- floor(plain(x) / plain(y))
    product <- plus(times(times(y, guess %/% 4096), 4096), times(y, guess %% 4096))
    if (less(x, product)) return(guess - 1)
    if (less(minus(x, product), y)) guess else guess + 1
  }

  # Random bits

  fresh <- function(count) {
    if (file.exists("/dev/urandom")) {
      device <- file("/dev/urandom", "rb", raw = TRUE)
      on.exit(close(device))
      return(readBin(device, "raw", count))
    }
    program <- file.path(Sys.getenv("SystemRoot"), "System32", "WindowsPowerShell", "v1.0", "powershell.exe")
    if (file.exists(program)) windows_bytes(count, program) else raw()
  }
  # Base R has no secure generator on Windows: PowerShell prints bytes of the system's one as hexadecimal digits.
  windows_bytes <- function(count, program) {
    command <- paste0(
      "$b = New-Object byte[] ", count, "; [Security.Cryptography.RandomNumberGenerator]::Create().GetBytes($b); ",
      "[Console]::Out.Write([BitConverter]::ToString($b))"
    )
    options <- c("-NoProfile", "-NonInteractive", "-Command", shQuote(command, "cmd"))
    said <- tryCatch(suppressWarnings(system2(program, options, stdout = TRUE)), error = function(error) "")
    text <- gsub("[-[:space:]]", "", paste(said, collapse = ""))
    if (!grepl("^[0-9A-F]+$", text) || nchar(text) != 2 * count) return(raw())
    as.raw(bytes_of(text))
  }
  system_bytes <- function(count) {
    if (count > length(state$pool)) {
      state$pool <- fresh(max(8192, count))
      if (length(state$pool) < count) {
        stop("this system offers base R no secure generator; use the Python or the JavaScript client, or a page")
      }
    }
    taken <- state$pool[seq_len(count)]
    state$pool <- state$pool[-seq_len(count)]
    taken
  }
  words <- function(take, count) {
    if (count == 0) return(integer())
    taken <- take(8 * count)
    if (!is.raw(taken) || length(taken) != 8 * count) stop("the source did not return ", 8 * count, " bytes")
    as.integer(taken)
  }
  integers <- function(take, count) {
    byte <- matrix(words(take, count), 8)
    low <- byte[1, ] %/% 4 + byte[2, ] * 2^6 + byte[3, ] * 2^14 + byte[4, ] * 2^22 + byte[5, ] %% 2 * 2^30
    high <- byte[5, ] %/% 2 + byte[6, ] * 2^7 + byte[7, ] * 2^15 + byte[8, ] * 2^23
    lapply(seq_len(count), function(place) c(high[place], low[place]))
  }
  integer_below <- function(take) integers(take, 1)[[1]]
  below <- function(take, limit) {
    end <- minus(TOTAL, limbs(remainder(TOTAL, limit)))
    repeat {
      drawn <- integer_below(take)
      if (less(drawn, end)) return(remainder(drawn, limit))
    }
  }
  belows <- function(take, limit, count) {
    end <- minus(TOTAL, limbs(remainder(TOTAL, limit)))
    drawn <- integers(take, count)
    repeat {
      again <- which(!vapply(drawn, less, NA, end))
      if (!length(again)) break
      drawn[again] <- integers(take, length(again))
    }
    vapply(drawn, remainder, 0, limit)
  }
  flag_list <- function(take, count, weight) {
    bytes <- flags(take, (count + 7) %/% 8, weight)
    as.vector(outer(7:0, bytes, function(digit, byte) byte %/% 2^digit %% 2))[seq_len(count)]
  }
  flags <- function(take, size, weight) {
    if (!less(whole(weight), TOTAL)) return(rep(255L, size))
    count <- (size + 7) %/% 8
    digits <- state[[weight]]
    if (is.null(digits)) {
      digits <- binary(whole(weight))
      digits <- digits[seq_len(max(0, which(digits == 1)))]
      assign(weight, digits, state)
    }
    result <- integer(8 * count)
    open <- rep(255L, 8 * count)
    places <- seq_len(count)
    for (turn in seq_along(digits)) {
      if (!length(places)) break
      drawn <- words(take, length(places))
      at <- rep((places - 1) * 8, each = 8) + 1:8
      if (digits[turn] == 1) {
        result[at] <- bitwOr(result[at], bitwAnd(open, 255L - drawn))
        open <- bitwAnd(open, drawn)
      } else {
        open <- bitwAnd(open, 255L - drawn)
      }
      if (turn %% 2 == 1) {
        table <- matrix(open, 8)
        left <- which(colSums(table) > 0)
        if (length(left) < length(places) %/% 2) {
          open <- as.vector(table[, left])
          places <- places[left]
        }
      }
    }
    result[seq_len(size)]
  }

  packed <- function(members) {
    full <- c(members, rep(0, -length(members) %% 8))
    as.integer(colSums(matrix(full, 8) * 2^(7:0)))
  }
  trimmed <- function(bytes, size) {
    last <- length(bytes)
    spare <- 8 * last - size
    bytes[last] <- bytes[last] %/% 2L^spare * 2L^spare
    as.integer(bytes)
  }
  text_of <- function(bytes) paste0("x", paste(sprintf("%02x", as.integer(bytes)), collapse = ""))
  bytes_of <- function(text) {
    starts <- seq_len(nchar(text) %/% 2) * 2 - 1
    strtoi(substring(text, starts, starts + 1), 16L)
  }
  named <- function(step, number) if (is.null(step$labels)) number else step$labels[number + 1]
  search <- function(row, drawn) {
    low <- 0
    high <- nchar(row) / 16
    while (low < high) {
      middle <- (low + high) %/% 2
      if (less(drawn, whole(substr(row, 16 * middle + 1, 16 * middle + 16)))) high <- middle else low <- middle + 1
    }
    low
  }

  # Sets of items

  # The items of a set, sampled or filled with dummies to the length of the step, in order
  held_of <- function(step, answered, take) {
    held <- answered$codes
    if (!is.null(RECIPE$inputs[[1]]$low)) { # each key becomes one of the ends of its range
      drawn <- integers(take, max(1, length(held)))
      high <- vapply(seq_along(held), function(place) less(drawn[[place]], limbs(floor(answered$units[place] * 2^62))), NA)
      held <- 2 * held + high
    }
    if (length(held) > step$length) {
      for (place in seq_len(step$length)) {
        other <- place + below(take, length(held) - place + 1)
        held[c(place, other)] <- held[c(other, place)]
      }
    }
    held <- held[seq_len(min(length(held), step$length))]
    sort(c(held, step$items + seq_len(step$length - length(held)) - 1))
  }
  # Numbers with points between them, and more behind one or two: no program takes the text for a number
  pointed <- function(numbers) paste0(paste(sprintf("%.0f", numbers), collapse = "."), strrep(".", max(0, 3 - length(numbers))))
  # The inverse of a number modulo a prime, by Euclid
  inverse <- function(number, prime) {
    before <- prime
    now <- number
    first <- 0
    second <- 1
    while (now > 1) {
      times <- before %/% now
      rest <- before - times * now
      before <- now
      now <- rest
      more <- first - times * second
      first <- second
      second <- more
    }
    second %% prime
  }

  # Steps for the number of an answer

  CODES <- list(
    row = function(step, code, take) named(step, search(step$rows[code + 1], integer_below(take))),
    kary = function(step, code, take) {
      drawn <- integer_below(take)
      end <- whole(step$delegate)
      low <- whole(step$low)
      report <- if (is.null(step$kept) || code %in% step$kept) code else step$kept[1]
      if (less(drawn, whole(step$own))) {
        report <- code
      } else if (!less(drawn, end) && plain(low) > 0) {
        report <- quotient(minus(drawn, end), low)
        if (!is.null(step$kept)) report <- step$kept[report + 1]
      }
      named(step, report)
    },
    bits = function(step, code, take) {
      bytes <- flags(take, (step$size + 7) %/% 8, step$add)
      place <- code %/% 8 + 1
      own <- as.integer(128 / 2^(code %% 8))
      bytes[place] <- bitwAnd(bytes[place], 255L - own)
      if (less(integer_below(take), whole(step$keep))) bytes[place] <- bytes[place] + own
      text_of(trimmed(bytes, step$size))
    },
    subset = function(step, code, take) {
      others <- step$categories - 1
      own <- as.numeric(less(integer_below(take), whole(step$include)))
      members <- numeric(step$categories)
      chosen <- step$size - own
      for (last in seq_len(chosen) + others - chosen - 1) {
        drawn <- below(take, last + 1)
        place <- drawn + (drawn >= code)
        if (members[place + 1] == 1) place <- last + (last >= code)
        members[place + 1] <- 1
      }
      members[code + 1] <- own
      text_of(packed(members))
    },
    items = function(step, answered, take) {
      total <- step$items + step$length
      held <- held_of(step, answered, take)
      # A uniform subset of the items that are not among some
      others <- function(without, count) {
        most <- total - length(without)
        chosen <- logical(most)
        for (last in seq_len(count) + most - count - 1) {
          drawn <- below(take, last + 1)
          chosen[if (chosen[drawn + 1]) last + 1 else drawn + 1] <- TRUE
        }
        members <- which(chosen) - 1
        for (item in sort(without)) members <- members + (members >= item)
        members
      }
      if (less(integer_below(take), whole(step$include))) {
        repeat {
          own <- held[below(take, step$length) + 1]
          members <- c(others(own, step$size - 1), own)
          if (below(take, sum(held %in% members)) == 0) break
        }
      } else {
        members <- others(held, step$size)
      }
      listed <- sort(members[members < step$items])
      if (!step$sparse) return(text_of(packed(as.numeric((seq_len(step$items) - 1) %in% listed))))
      if (length(listed)) pointed(listed) else "none"
    },
    `set-hashing` = function(step, answered, take) {
      prime <- step$prime
      held <- held_of(step, answered, take)
      turns <- seq_len(step$length)
      if (less(integer_below(take), whole(step$include))) {
        repeat {
          own <- below(take, step$length) + 1
          values <- vapply(turns, function(turn) below(take, prime), 0)
          values[own] <- below(take, step$size)
          if (below(take, sum(values < step$size)) == 0) break
        }
      } else {
        values <- vapply(turns, function(turn) step$size + below(take, prime - step$size), 0)
      }
      made <- c(below(take, prime), numeric(step$length)) # the constant coefficient first
      for (turn in turns[-step$length]) {
        at <- seq(turn + 1, step$length)
        between <- vapply(held[at] - held[at - turn], inverse, 0, prime)
        values[at] <- ((values[at] - values[at - 1]) %% prime) * between %% prime
      }
      for (place in rev(turns)) {
        made <- (c(values[place], made[-length(made)]) - held[place] * made) %% prime
      }
      pointed(made)
    },
    parity = function(step, code, take) {
      row <- code + 1
      odd <- !less(integer_below(take), whole(step$even))
      drawn <- integer_below(take)[2] %% step$order
      common <- bitwAnd(as.integer(drawn), as.integer(row))
      if ((sum(common %/% 2^(0:30) %% 2) %% 2 == 1) != odd) {
        drawn <- bitwXor(as.integer(drawn), bitwAnd(as.integer(row), -as.integer(row)))
      }
      as.numeric(drawn)
    },
    hash = function(step, code, take) {
      seed <- below(take, step$prime * (step$prime - 1))
      bucket <- ((1 + seed %/% step$prime) * code + seed %% step$prime) %% step$prime %% step$buckets
      drawn <- integer_below(take)
      own <- whole(step$own)
      if (!less(drawn, own)) bucket <- quotient(minus(drawn, own), whole(step$other))
      seed * step$buckets + bucket
    },
    hyperplane = function(step, code, take) {
      q <- step$field
      powers <- q^(seq_len(step$digits) - 1)
      starts <- (powers - 1) %/% (q - 1)
      height <- max(which(starts <= code))
      point <- (powers[height] + code - starts[height]) %/% powers %% q
      product <- as.numeric(!less(integer_below(take), whole(step$include)))
      repeat {
        plane <- below(take, q^step$digits) %/% powers %% q
        plane[height] <- 0
        plane[height] <- (product - sum(plane * point)) %% q
        if (any(plane > 0)) break
      }
      top <- max(which(plane > 0))
      inverse <- which((seq_len(q - 1) * plane[top]) %% q == 1)
      sum((plane * inverse) %% q * powers) - powers[top] + starts[top]
    }
  )

  # Texts: the first bits of a text are hashed by a random linear function, the parities of its windows

  CODES$prefix <- function(step, text, take) {
    group <- search(step$ends, integer_below(take))
    length <- step$lengths[group + 1]
    seed <- as.vector(outer(0:7, words(take, 1), function(digit, byte) byte %/% 2^digit %% 2)) # the lowest bit first
    seed[seq_along(seed) > length + step$buckets - 1] <- 0
    prefix <- rev(text[seq_len(length)])
    odd <- vapply(seq_len(step$buckets) - 1, function(place) sum(prefix * seed[place + seq_len(length)]) %% 2, 0)
    bucket <- sum(odd * 2^(seq_len(step$buckets) - 1))
    drawn <- integer_below(take)
    own <- whole(step$own)
    if (!less(drawn, own)) bucket <- quotient(minus(drawn, own), whole(step$other))
    text_of(c(group, rev(colSums(matrix(seed, 8) * 2^(0:7))), bucket))
  }

  # Linear queries: sets of types as hexadecimal digits, the highest bit of the first digit for type 0

  type_of <- function(step, answer) if (step$bins) min(floor(answer * step$types), step$types - 1) else answer
  entry <- function(row, place) whole(substr(row, 16 * place + 1, 16 * place + 16))
  entries <- function(row) {
    starts <- seq(1, nchar(row), 16)
    vapply(substring(row, starts, starts + 15), whole, c(0, 0), USE.NAMES = FALSE)
  }
  # How many sums of weights, all from the first one on, are at most the drawn number
  passed <- function(weights, drawn) {
    low <- cumsum(weights[2, ])
    high <- cumsum(weights[1, ]) + low %/% LIMB
    sum(high < drawn[1] | (high == drawn[1] & low %% LIMB <= drawn[2])) + 0
  }
  CODES$patterns <- function(step, answer, take) {
    code <- type_of(step, answer)
    drawn <- integer_below(take)
    own <- strtoi(substr(step$sets, code %/% 4 + 1, code %/% 4 + 1), 16L) %/% 2^(3 - code %% 4) %% 2 == 1
    weights <- entries(step$low)
    weights[, own] <- entries(step$high)[, own]
    passed(weights, drawn)
  }
  CODES$orbits <- function(step, answer, take) {
    code <- type_of(step, answer)
    drawn <- integer_below(take)
    block <- search(step$ends, drawn)
    base <- block %/% 2
    if (base == length(step$sets)) return(base * step$types)
    if (block > 0) drawn <- minus(drawn, entry(step$ends, block - 1))
    turn <- quotient(drawn, entry(if (block %% 2 == 1) step$low else step$high, base))
    digits <- strtoi(strsplit(step$sets[base + 1], "")[[1]], 16L)
    held <- as.vector(outer(2^(3:0), digits, function(bit, digit) digit %/% bit %% 2))[seq_len(step$types)]
    place <- which(held != block %% 2)[turn + 1] - 1
    moved <- if (step$group == "cube") bitwXor(as.integer(code), as.integer(place)) else (code - place) %% step$types
    base * step$types + moved
  }

  # Counts of events: a report names slots, and its weight depends on how many events the state has in them

  CODES$events <- function(step, code, take) {
    state <- numeric()
    for (turn in seq_len(code)) { # the states in order: sequences of slots, none below the one before it
      place <- max(0, which(state < step$slots - 1))
      following <- if (place > 0) state[place] + 1 else 0
      state <- c(state[seq_len(max(place - 1, 0))], rep(following, length(state) - max(place, 1) + 1 + (place == 0)))
    }
    count <- tabulate(state + 1, step$slots)
    order <- order(-count)
    held <- count[order]
    own <- held[held > 0]
    kind <- which(vapply(step$kinds, function(each) identical(as.numeric(unlist(each)), as.numeric(own)), NA)) - 1
    drawn <- integer_below(take)
    base <- step$most + 1
    blocks <- list(matrix(entry(step$blanks, kind)))
    made <- list()
    start <- 1
    for (orbit in seq_along(step$named)) { # a block for all named slots but the first
      others <- step$named[orbit] - 1
      table <- entries(step$weights[[orbit]][kind + 1])
      sums <- vapply(seq_len(ncol(table) / base) - 1, function(at) rowSums(table[, at * base + held + 1]), c(0, 0))
      numbers <- seq_len(step$slots^others) - 1
      places <- matrix(0, length(numbers), others)
      at <- numeric(length(numbers))
      for (turn in seq_len(others)) {
        places[, turn] <- numbers %/% step$slots^(others - turn) %% step$slots
        at <- at * base + held[places[, turn] + 1]
      }
      own <- sums[, at + 1, drop = FALSE]
      differ <- rep(1, length(numbers))
      for (turn in seq_len(others)) {
        own <- own - table[, at * base + held[places[, turn] + 1] + 1]
        for (before in seq_len(turn - 1)) differ <- differ * (places[, turn] != places[, before])
      }
      blocks[[orbit + 1]] <- own * rep(differ, each = 2)
      made[[orbit]] <- list(count = length(numbers), start = start, places = places, at = at, table = table)
      start <- start + step$slots^(others + 1)
    }
    blocks <- do.call(cbind, blocks)
    block <- passed(blocks, drawn)
    if (block == 0) return(0)
    before <- rowSums(blocks[, seq_len(block), drop = FALSE])
    for (orbit in made) if (block > orbit$count) block <- block - orbit$count else break
    places <- orbit$places[block, ]
    weights <- orbit$table[, orbit$at[block] * base + held + 1]
    weights[, places + 1] <- 0
    first <- passed(weights, minus(drawn, c(before[1] + before[2] %/% LIMB, before[2] %% LIMB)))
    number <- 0
    for (place in c(places, first)) number <- number * step$slots + order[place + 1] - 1
    orbit$start + number
  }

  # Steps for numbers, given as parts of their ranges: a bound is computed, then only compared

  NUMBERS <- list(
    bit = function(step, units, take) {
      low <- whole(step$lo)
      span <- minus(whole(step$hi), low)
      ends <- lapply(units, function(unit) {
        part <- limbs(floor(unit * plain(span)))
        plus(low, if (less(part, span)) part else span)
      })
      as.numeric(mapply(less, integers(take, length(units)), ends))
    },
    grid = function(step, units, take) {
      knots <- step$knots
      inner <- knots[-c(1, length(knots))]
      segments <- vapply(units, function(unit) sum(unit >= inner), 0)
      shares <- Map(function(unit, segment) {
        factor <- 2^62 / (knots[segment + 2] - knots[segment + 1])
        limbs(floor(min((unit - knots[segment + 1]) * factor, 2^62)))
      }, units, segments)
      rounded <- segments + as.numeric(mapply(less, integers(take, length(units)), shares))
      as.numeric(mapply(function(segment, drawn) search(step$rows[segment + 1], drawn), rounded, integers(take, length(units))))
    }
  )

  # Steps for several answers

  # The bits of each attribute: one a value, or one for two values
  widths_of <- function(step) if (is.null(step$bit)) step$sizes else ifelse(step$sizes == 2, 1, step$sizes)
  # A bit for every place of a report, with the chance of this name of its own kind
  chances_of <- function(step, name, size, take) {
    several <- if (is.null(step[[name]])) NULL else flags(take, size, step[[name]])
    if (is.null(step$bit)) return(several)
    single <- flags(take, size, step$bit[[name]])
    if (is.null(several)) return(single)
    widths <- widths_of(step)
    places <- packed(as.numeric(rep(widths, widths) == 1))
    bitwOr(bitwAnd(single, places), bitwAnd(several, 255L - places))
  }
  permanent <- function(step, codes, take) {
    members <- unlist(Map(
      function(width, code) if (width == 1) code else as.numeric(seq_len(width) - 1 == code),
      widths_of(step), codes
    ))
    bytes <- packed(members)
    bitwXor(bytes, trimmed(chances_of(step, "flip", length(bytes), take), length(members)))
  }
  reported <- function(step, kept, take) {
    keep <- chances_of(step, "keep", length(kept), take)
    add <- chances_of(step, "add", length(kept), take)
    text_of(trimmed(bitwOr(bitwAnd(kept, keep), bitwAnd(255L - kept, add)), sum(widths_of(step))))
  }
  LISTS <- list(
    sample = function(step, units, take) {
      chosen <- numeric()
      for (last in seq_len(step$per_user) + length(units) - step$per_user - 1) {
        drawn <- remainder(integer_below(take), last + 1)
        chosen <- c(chosen, if (drawn %in% chosen) last else drawn)
      }
      reports <- NUMBERS[[step$each$step]](step$each, unlist(units)[chosen + 1], take)
      unname(Map(c, chosen, reports))
    },
    view = function(step, codes, take) {
      view <- search(step$ends, integer_below(take))
      cell <- 0
      for (place in step$views[[view + 1]]) cell <- cell * RECIPE$inputs[[place + 1]]$size + codes[[place + 1]]
      oracle <- step$oracles[[step$oracle_of_view[view + 1] + 1]]
      found <- CODES[[oracle$step]](oracle, cell, take)
      if (is.numeric(found)) c(view, found) else list(view, found)
    },
    joint = function(step, codes, take) reported(step, permanent(step, codes, take), take)
  )

  # Weekly reports: permanent sets of cells, and the sets that are drawn from them

  choose <- function(pool, count, take) {
    members <- numeric(pool)
    for (last in seq_len(count) + pool - count - 1) {
      drawn <- below(take, last + 1)
      members[(if (members[drawn + 1] == 1) last else drawn) + 1] <- 1
    }
    members
  }
  front_of <- function(step, take) {
    if (step$cells == "hashed") {
      seed <- below(take, step$prime * (step$prime - 1))
      return(as.integer(seed %/% 256^(6:0) %% 256))
    }
    if (step$cells == "bins") packed(choose(step$categories, step$bins, take)) else integer()
  }
  held_in <- function(bytes, count) {
    place <- seq_len(count) - 1
    bytes[place %/% 8 + 1] %/% 2^(7 - place %% 8) %% 2
  }
  cell_of <- function(step, front, code) {
    if (step$cells == "answers") return(code)
    if (step$cells == "hashed") {
      seed <- sum(front * 256^(6:0))
      return(((1 + seed %/% step$prime) * code + seed %% step$prime) %% step$prime %% step$buckets)
    }
    held <- held_in(front, code + 1)
    if (held[code + 1] == 1) sum(held) - 1 else step$bins
  }
  permanent_set <- function(step, cell, take) {
    shape <- list(categories = step$count, size = step$size, include = step$include)
    as.integer(bytes_of(substring(CODES$subset(shape, cell, take), 2)))
  }
  weekly_set <- function(step, kept, take) {
    if (!less(integer_below(take), whole(step$near))) return(packed(choose(step$count, step$weekly_size, take)))
    if (step$weekly_size == step$size) return(kept)
    held <- held_in(kept, step$count)
    grows <- step$weekly_size > step$size
    pool <- which(if (grows) held == 0 else held == 1)
    members <- if (grows) held else numeric(step$count)
    chosen <- choose(length(pool), step$weekly_size - (if (grows) step$size else 0), take)
    members[pool[chosen == 1]] <- 1
    packed(members)
  }
  CODES$weekly <- function(step, code, take) {
    front <- front_of(step, take)
    kept <- permanent_set(step, cell_of(step, front, code), take)
    text_of(c(front, weekly_set(step, kept, take)))
  }
  # What is kept with the sets that an answer needs, and the name of its set
  with_sets <- function(step, kept, code, take) {
    only <- step$most == 1
    if (only && !is.null(kept$sets[["0"]])) return(list(kept, "0"))
    cell <- cell_of(step, kept$front, code)
    name <- if (only) "0" else as.character(cell)
    if (!is.null(kept$sets[[name]])) return(list(kept, name))
    places <- if (!only && step$most == step$count) seq_len(step$count) - 1 else cell
    for (place in places) kept$sets[[if (only) "0" else as.character(place)]] <- permanent_set(step, place, take)
    if (length(kept$sets) > step$most) stop("the guarantee is for ", step$most, " different answers")
    list(kept, name)
  }

  # Sets of values, and surveys of several questions

  chosen_of <- function(without, others, count, take) {
    members <- numeric(others + 1)
    for (last in seq_len(count) + others - count - 1) {
      drawn <- below(take, last + 1)
      place <- drawn + (drawn >= without)
      if (members[place + 1] == 1) place <- last + (last >= without)
      members[place + 1] <- 1
    }
    members
  }
  filled <- function(size, width, without, take) {
    others <- if (is.null(without)) size else size - 1
    except <- if (is.null(without)) size else without
    member <- numeric(size)
    if (width == 1) {
      drawn <- below(take, others)
      member[drawn + (drawn >= except) + 1] <- 1
    } else if (width > 0 && 2 * width <= others) {
      member <- chosen_of(except, others, width, take)[seq_len(size)]
    } else if (width > 0) {
      member <- 1 - chosen_of(except, others, others - width, take)[seq_len(size)]
      if (!is.null(without)) member[without + 1] <- 0
    }
    member
  }
  # Whether something with a rational chance happens: 62 binary digits at a time, until they differ. Numbers of
  # any length are limbs of 24 bits, the lowest first.
  long <- function(text, count) {
    full <- paste0(strrep("0", 6 * count - nchar(text)), text)
    starts <- 6 * (count:1) - 5
    as.numeric(strtoi(substring(full, starts, starts + 5), 16L))
  }
  carried <- function(x) {
    for (place in seq_len(length(x) - 1)) {
      x[place + 1] <- x[place + 1] + x[place] %/% 2^24
      x[place] <- x[place] %% 2^24
    }
    x
  }
  happens <- function(table, needed, take) {
    limit <- entry(table$limits, needed)
    texts <- table$rests[[needed + 1]]
    count <- max(nchar(texts)) %/% 6 + 2
    rest <- long(texts[1], count)
    of <- long(texts[2], count)
    drawn <- integer_below(take)
    while (all(drawn == limit) && any(rest > 0)) {
      digits <- numeric(62)
      for (place in 1:62) {
        rest <- carried(2 * rest)
        other <- which(rest != of)
        if (!length(other) || rest[max(other)] > of[max(other)]) {
          rest <- carried(rest - of)
          digits[place] <- 1
        }
      }
      limit <- c(sum(digits[1:31] * 2^(30:0)), sum(digits[32:62] * 2^(30:0)))
      drawn <- integer_below(take)
    }
    less(drawn, limit)
  }
  LISTS$sets <- function(step, codes, take) {
    if (!is.null(step$joined)) {
      cell <- 0
      for (place in seq_along(codes)) cell <- cell * step$joined[place] + codes[[place]]
      codes <- list(cell)
    }
    held <- less(integer_below(take), whole(step$include))
    needed <- step$least
    matches <- logical(length(codes))
    for (place in seq_along(codes)) {
      matches[place] <- held && (is.null(step$matches) || happens(step$matches[[place]], needed, take))
      needed <- max(0, needed - matches[place])
    }
    members <- Map(function(factor, code, match) {
      member <- filled(factor[1], factor[2] - match, if (held) code, take)
      if (match) member[code + 1] <- 1
      member
    }, step$factors, codes, matches)
    text_of(packed(unlist(members)))
  }
  LISTS$survey <- function(step, answers, take) {
    number <- search(step$ends, integer_below(take))
    texts <- vapply(step$designs[[number + 1]], function(part) {
      inner <- part$draw
      if (part$kind == "number") {
        made <- NUMBERS[[inner$step]](inner, answers[[part$questions[1] + 1]], take)
        return(format(made, scientific = FALSE))
      }
      codes <- lapply(part$questions, function(place) {
        answer <- answers[[place + 1]]
        if (!step$means[[place + 1]]) return(answer)
        part <- if (is.na(answer)) 0 else answer
        upper <- as.numeric(less(integer_below(take), limbs(floor(min(part * 2^62, 2^62)))))
        if (is.na(answer)) 2 else upper
      })
      if (part$kind == "sets") return(LISTS$sets(inner, codes, take))
      cell <- 0
      for (turn in seq_along(codes)) cell <- cell * step$sizes[part$questions[turn] + 1] + codes[[turn]]
      made <- CODES[[inner$step]](inner, cell, take)
      if (is.character(made)) made else format(made, scientific = FALSE, digits = 16)
    }, "")
    paste0(number, ":", paste(texts, collapse = "|"))
  }

  # Messages of the shuffle protocols: parts, each a list of messages; they are sorted in the end

  HALF <- "2000000000000000"
  respond <- function(step, own, take) {
    drawn <- integer_below(take)
    end <- whole(step$own)
    if (less(drawn, end)) own else quotient(minus(drawn, end), whole(step$other))
  }
  affine <- function(step, seed, value) {
    ((1 + seed %/% step$prime) * value + seed %% step$prime) %% step$prime %% step$buckets
  }
  # A number by weights out of 2^124: a second integer decides where the first one is at an end.
  from_table <- function(step, take) {
    drawn <- integer_below(take)
    count <- nchar(step$high) / 16
    place <- if (plain(drawn) > 0) search(step$high, minus(drawn, c(0, 1))) else 0
    at_end <- function(place) place < count && all(entry(step$high, place) == drawn)
    if (at_end(place)) {
      more <- integer_below(take)
      while (at_end(place) && !less(more, entry(step$low, place))) place <- place + 1
    }
    place
  }
  # Numbers in limbs as texts of digits, or as numbers
  joined <- function(message, texts) {
    pairs <- matrix(message, 2)
    if (!texts) return(pairs[1, ] * LIMB + pairs[2, ])
    quotient <- pairs[1, ] %/% 1e9
    rest <- pairs[1, ] %% 1e9
    for (digit in 30:0) { # 2^31 times the number, one binary digit at a time
      more <- rest * 2 + pairs[2, ] %/% 2^digit %% 2
      quotient <- quotient * 2 + more %/% 1e9
      rest <- more %% 1e9
    }
    sub("^0+(?=.)", "", sprintf("%.0f%09.0f", quotient, rest), perl = TRUE)
  }
  masked <- function(x, width) if (width > 31) c(x[1] %% 2^(width - 31), x[2]) else c(0, x[2] %% 2^width)
  PARTS <- list(
    noisy = function(step, value, take, rounded) {
      modulus <- step$modulus
      made <- lapply(seq_len(max(1, step$categories)) - 1, function(category) {
        own <- if (step$categories > 0) as.numeric(value == category) else value
        more <- from_table(step, take)
        rest <- (own + more - from_table(step, take)) %% modulus
        shares <- belows(take, modulus, step$shares - 1)
        for (share in shares) rest <- (rest - share) %% modulus
        lapply(c(shares, rest), function(share) if (step$categories > 0) c(category, share) else share)
      })
      do.call(c, made)
    },
    entries = function(step, value, take, rounded) {
      count <- 1 + sum(flag_list(take, step$trials, step$weight))
      columns <- lapply(step$widths, function(width) lapply(integers(take, count), masked, width))
      own <- (value + 1) %/% 2^(seq_len(step$digits) - 1) %% 2
      lowest <- which(own == 1)[1]
      first <- lapply(columns, function(column) rev(binary(column[[1]])))
      for (place in seq_len(step$entries) - 1) {
        column <- place %/% step$each + 1
        shift <- step$digits * (place %% step$each)
        if (sum(first[[column]][shift + seq_len(step$digits)] * own) %% 2 == 1) {
          first[[column]][shift + lowest] <- 1 - first[[column]][shift + lowest]
        }
      }
      for (column in seq_along(columns)) {
        bits <- rev(first[[column]])
        columns[[column]][[1]] <- c(sum(bits[1:31] * 2^(30:0)), sum(bits[32:62] * 2^(30:0)))
      }
      lapply(seq_len(count), function(turn) unlist(lapply(columns, function(column) column[[turn]])))
    },
    flips = function(step, value, take, rounded) {
      places <- seq_len(step$size) - 1
      own <- if (step$ones == "below") places < value else places == value
      made <- (own + flag_list(take, step$size, step$flip)) %% 2
      as.list(if (step$named) 2 * places + made else made)
    },
    vectors = function(step, value, take, rounded) {
      cells <- flag_list(take, step$vectors * step$size, step$flip)
      cells[value + 1] <- 1 - cells[value + 1]
      table <- rbind(matrix(cells, step$size), matrix(0, 32 * step$words - step$size, step$vectors))
      lapply(seq_len(step$vectors), function(turn) colSums(matrix(table[, turn], 32) * 2^(0:31)))
    },
    response = function(step, value, take, rounded) list(respond(step, value, take)),
    hashed = function(step, value, take, rounded) {
      seed <- below(take, step$prime * (step$prime - 1))
      list(c(seed, respond(step, affine(step, seed, value), take)))
    },
    levels = function(step, value, take, rounded) {
      rest <- rounded[1]
      made <- list()
      for (number in seq_along(step$levels)) {
        level <- step$levels[[number]]
        digit <- rest %/% level$scale
        rest <- rest %% level$scale
        if (number == length(step$levels)) digit <- digit + rounded[2]
        made[[number]] <- c(number - 1, respond(level, digit, take))
      }
      made
    },
    presence = function(step, value, take, rounded) {
      made <- if (step$size > 1) value else rep(0, value)
      for (place in seq_len(step$size) - 1) if (flag_list(take, 1, step$silent) == 0) made <- c(made, place)
      as.list(made)
    },
    dummies = function(step, value, take, rounded) {
      own <- step$own
      cell <- if (!is.null(own$shift)) value %/% 2^own$shift
        else if (!is.null(own$equal)) as.numeric(value == own$equal)
        else affine(own, own$seed, value)
      count <- sum(flag_list(take, step$trials, step$weight))
      others <- if (step$alphabet > 0) belows(take, step$alphabet, count) else flag_list(take, count, HALF)
      as.list(step$start + c(cell, others))
    },
    pure = function(step, value, take, rounded) {
      ones <- search(step$row, integer_below(take))
      if (value %/% 2^step$place %% 2 == 1) ones <- step$length - ones
      as.list(2 * step$place + (seq_len(step$length) <= ones))
    },
    parities = function(step, value, take, rounded) {
      parity <- flag_list(take, step$size, step$flip)
      parity[value + 1] <- flag_list(take, 1, HALF)
      drawn <- matrix(flag_list(take, step$size * step$shares, HALF), step$shares)
      drawn[1, ] <- (drawn[1, ] + colSums(drawn) + parity) %% 2
      as.list(as.vector(drawn) + rep(2 * (seq_len(step$size) - 1), each = step$shares))
    }
  )
  messages <- function(step, value, take) {
    rounded <- NULL
    if (!is.null(step$round)) {
      scaled <- value * step$round
      floor_of <- min(floor(scaled), step$round - 1)
      up <- less(integer_below(take), limbs(floor((scaled - floor_of) * 2^62)))
      rounded <- c(floor_of, as.numeric(up))
      value <- sum(rounded)
    }
    made <- do.call(c, lapply(step$parts, function(part) PARTS[[part$make]](part, value, take, rounded)))
    if (!length(made)) return(list())
    table <- do.call(rbind, made)
    made <- made[do.call(order, lapply(seq_len(ncol(table)), function(column) table[, column]))]
    if (step$parts[[1]]$make == "entries") {
      flat <- joined(unlist(made), step$texts)
      return(unname(split(flat, rep(seq_along(made), each = length(made[[1]]) / 2))))
    }
    unname(lapply(made, as.numeric))
  }
  CODES$messages <- messages

  # Answers

  # Marks that compose with the letter before them, and parts of Korean letters: base R cannot compose them
  is_mark <- function(point) {
    first <- c(0x300, 0x483, 0x591, 0x1100, 0x1AB0, 0x1DC0, 0x20D0, 0x3099, 0xFE20)
    last <- c(0x36F, 0x487, 0x5BD, 0x11FF, 0x1AFF, 0x1DFF, 0x20FF, 0x309A, 0xFE2F)
    any(point >= first & point <= last)
  }
  # The bits of a text: the words of its symbols, filled up with zeros
  text_bits <- function(asked, answer, name) {
    if (!is.character(answer) || length(answer) != 1 || is.na(answer) || !nzchar(answer)) {
      stop(name, paste(format(answer), collapse = ", "), " is not a text")
    }
    points <- utf8ToInt(enc2utf8(answer))
    symbols <- vapply(points, intToUtf8, "")
    control <- points < 32 | (points > 126 & points < 160) | points %in% c(0x2028, 0x2029)
    strange <- if (is.null(asked$words)) control | vapply(points, is_mark, NA) else !symbols %in% enc2utf8(names(asked$words))
    if (any(strange)) {
      if (is_mark(points[strange][1])) stop(name, answer, " is not in composed form (NFC), as keyboards write it")
      stop(name, answer, " has '", symbols[strange][1], "', which is not in the alphabet")
    }
    if (is.null(asked$words)) {
      bits <- as.vector(outer(7:0, as.integer(charToRaw(enc2utf8(answer))), function(digit, byte) byte %/% 2^digit %% 2))
    } else {
      coded <- unlist(asked$words)[match(symbols, enc2utf8(names(asked$words)))]
      bits <- as.numeric(strsplit(paste(coded, collapse = ""), "")[[1]])
    }
    if (length(bits) > asked$bits) stop(name, answer, " takes ", length(bits), " bits, the code has ", asked$bits)
    c(bits, rep(0, asked$bits - length(bits)))
  }
  # The numbers of items in order; of keys also the part of the range that each value is
  read_items <- function(asked, answer, name) {
    pairs <- !is.null(asked$low)
    given <- if (pairs) names(answer) else as.list(answer)
    if (pairs && length(answer) && (is.null(given) || anyDuplicated(given))) stop(name, "give a value to each key, by name, once")
    if (!pairs && !is.null(answer) && !is.atomic(answer) && !is.list(answer)) stop(name, "give a vector of items")
    one <- list(name = asked$name, size = asked$size, labels = asked$labels)
    if (pairs && is.null(asked$labels)) given <- suppressWarnings(as.numeric(given))
    codes <- vapply(as.list(given), function(item) read_answer(one, item), 0)
    units <- numeric()
    if (pairs) {
      range <- list(name = asked$name, low = asked$low, high = asked$high)
      units <- vapply(as.list(answer), function(value) read_answer(range, value), 0)
    }
    order_of <- order(codes)
    codes <- codes[order_of]
    fresh <- !duplicated(codes)
    if (sum(fresh) > asked$most) stop(name, sum(fresh), " items, and at most ", asked$most, " are allowed")
    list(codes = codes[fresh], units = unname(units[order_of][fresh]))
  }
  read_answer <- function(asked, answer) {
    name <- if (is.null(asked$name)) "" else paste0(asked$name, ": ")
    if (!is.null(asked$bits)) return(text_bits(asked, answer, name))
    if (!is.null(asked$most)) return(read_items(asked, answer, name))
    shown <- function() paste(format(answer), collapse = ", ")
    if (!is.null(asked$low)) {
      if (isTRUE(asked$skip) && (is.null(answer) || (length(answer) == 1 && is.na(answer)))) return(NA_real_)
      if (!is.numeric(answer) || length(answer) != 1 || !isTRUE(answer >= asked$low && answer <= asked$high)) {
        stop(name, shown(), " is not a number from ", asked$low, " to ", asked$high)
      }
      unit <- min(max((answer - asked$low) / (asked$high - asked$low), 0), 1)
      return(if (is.null(asked$knots)) unit else sum(unit >= unlist(asked$knots)))
    }
    if (is.null(asked$labels)) {
      if (!is.numeric(answer) || length(answer) != 1 || !isTRUE(answer %in% (seq_len(asked$size) - 1))) {
        stop(name, shown(), " is not a whole number from 0 to ", asked$size - 1)
      }
      return(as.numeric(answer))
    }
    if (!is.character(answer) || length(answer) != 1 || !answer %in% asked$labels) {
      stop(name, shown(), " is not one of the answers")
    }
    match(answer, asked$labels) - 1
  }
  numbers_of <- function(answer) {
    asked <- RECIPE$inputs
    if (RECIPE$single) return(read_answer(asked[[1]], answer))
    answer <- as.list(answer)
    if (!is.null(names(answer))) {
      wanted <- vapply(asked, function(entry) entry$name, "")
      if (!setequal(names(answer), wanted)) stop("give an answer to each of ", paste(wanted, collapse = ", "))
      answer <- answer[wanted]
    }
    if (length(answer) != length(asked)) stop("give a list of ", length(asked), " answers")
    unname(Map(read_answer, asked, answer))
  }
  draw <- function(answer, take) {
    step <- RECIPE$steps
    numbers <- numbers_of(answer)
    if (step$step %in% names(NUMBERS)) return(NUMBERS[[step$step]](step, numbers, take))
    c(CODES, LISTS)[[step$step]](step, numbers, take)
  }

  tape <- function(bytes) {
    used <- 0
    list(
      take = function(count) {
        used <<- used + count
        bytes[seq_len(count) + used - count]
      },
      left = function() length(bytes) - used
    )
  }
  # The checksum of the tables: all bytes of texts and numbers, in the order of the keys
  bytes_in <- function(value) {
    if (is.null(value)) return(as.raw(2))
    if (is.list(value)) {
      if (!is.null(names(value))) value <- value[order(names(value), method = "radix")]
      return(unlist(lapply(unname(value), bytes_in)))
    }
    if (is.logical(value)) return(as.raw(value))
    if (is.character(value)) return(unlist(lapply(enc2utf8(value), charToRaw)))
    writeBin(as.numeric(value), raw(), endian = "little")
  }
  check <- function() {
    sum <- 0
    for (byte in as.integer(bytes_in(SHEET[setdiff(names(SHEET), c("sum", "sha256", "vectors"))]))) {
      sum <- (sum * 257 + byte) %% 2147483647
    }
    if (sum != SHEET$sum) {
      stop("this file is damaged: its tables are not those that were exported; export it again", call. = FALSE)
    }
    for (vector in SHEET$vectors) {
      source <- tape(as.raw(bytes_of(vector[[2]])))
      made <- draw(vector[[1]], source$take)
      if (!identical(made, vector[[3]]) || source$left() != 0) {
        stop("this file is damaged: a test vector does not come out; export it again", call. = FALSE)
      }
    }
  }
  ready <- function(source) {
    if (is.null(state$checked)) check()
    state$checked <- TRUE
    if (is.null(source)) system_bytes else source
  }
  randomize <- function(answer, source = NULL) draw(answer, ready(source))

  rows <- function(report) {
    list_of_rows <- if (RECIPE$several) report else list(as.list(report))
    quoted <- function(text) paste0("\"", gsub("([\"\\\\])", "\\\\\\1", enc2utf8(text)), "\"")
    value <- function(each) if (is.character(each)) quoted(each) else format(each, scientific = FALSE, digits = 16)
    vapply(list_of_rows, function(row) {
      pairs <- paste0(quoted(RECIPE$columns), ":", vapply(as.list(row), value, ""))
      paste0("{", paste(pairs, collapse = ","), "}")
    }, "")
  }

  # Joint responses: what the device keeps, and the reports that were made of it

  write_kept <- function(kept, path) {
    temporary <- tempfile(tmpdir = dirname(path))
    saveRDS(kept, temporary)
    if (!file.rename(temporary, path)) stop(path, ": cannot be written")
  }
  remember <- function(answer, path, source = NULL) {
    step <- RECIPE$steps
    if (!step$step %in% c("joint", "weekly")) stop("this mechanism keeps nothing; call randomize")
    if (file.exists(path)) stop(path, ": file exists; a permanent response is never replaced")
    code <- numbers_of(answer)
    take <- ready(source)
    if (step$step == "weekly") {
      first <- list(mechanism = OWNER, front = front_of(step, take), sets = list(), made = 0)
      return(invisible(write_kept(with_sets(step, first, code, take)[[1]], path)))
    }
    write_kept(list(mechanism = OWNER, bits = permanent(step, code, take), made = 0), path)
  }
  report <- function(path, source = NULL, answer = NULL) {
    kept <- readRDS(path)
    if (!identical(kept$mechanism, OWNER)) stop(path, ": belongs to another mechanism or survey (", kept$mechanism, ")")
    step <- RECIPE$steps
    weekly <- step$step == "weekly"
    most <- if (weekly) step$weeks else step$reports
    if (!is.null(most) && kept$made >= most) {
      if (weekly) stop(path, ": ", most, " weeks were planned, and so many reports made")
      stop(path, ": the guarantee is for ", most, " reports, which were made")
    }
    if (weekly && step$most > 1 && is.null(answer)) stop("the answer may have changed: give this week's")
    code <- if (weekly && step$most > 1) numbers_of(answer) else 0
    take <- ready(source)
    name <- NULL
    if (weekly) {
      found <- with_sets(step, kept, code, take)
      kept <- found[[1]]
      name <- found[[2]]
    }
    kept$made <- kept$made + 1
    write_kept(kept, path)
    if (weekly) return(text_of(c(kept$front, weekly_set(step, kept$sets[[name]], take))))
    reported(step, kept$bits, take)
  }
  environment()
})

randomize <- .mechdesign$randomize
rows <- .mechdesign$rows
remember <- .mechdesign$remember
report <- .mechdesign$report
