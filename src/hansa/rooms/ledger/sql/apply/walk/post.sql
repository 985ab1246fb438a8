-- The velocity of the payer, the new balances and the postings of a transaction.
DECLARE
  k int;
BEGIN
  IF paced IS NOT NULL THEN
    -- A large share of the supply that goes round and round passes 64 bits: the minute then gets another entry.
    IF paced = 'sent' AND amount > 9223372036854775807 - now_sent[p] THEN
      past[p] := past[p]::bigint[] || ARRAY[this_minute, now_sent[p], now_held[p]];
      past_sent[p] := past_sent[p] + now_sent[p];
      past_held[p] := greatest(past_held[p], now_held[p]);
      now_sent[p] := 0;
      now_held[p] := 0;
    END IF;
    IF paced = 'sent' THEN
      now_sent[p] := now_sent[p] + amount;
    END IF;
    now_held[p] := greatest(now_held[p], funds[p][1]);
    is_paced[p] := true;
  END IF;
  done := done || i;
  k := cardinality(done);
  first_posting := first_posting || cardinality(posting_of) + 1;
  -- What leaves the debited bucket: the amount, a fee that goes elsewhere, and what a final capture frees.
  IF p IS NOT NULL THEN
    rest := amount + left_over + CASE WHEN fee_mode = 'inside' THEN 0 ELSE price END;
    funds[p][from_bucket] := funds[p][from_bucket] - rest;
    posting_of := posting_of || k;
    posting_place := posting_place || p;
    posting_bucket := posting_bucket || from_bucket;
    posting_delta := posting_delta || -rest;
    posting_after := posting_after || funds[p][from_bucket];
    is_changed[p] := true;
  END IF;
  IF q IS NOT NULL THEN
    rest := amount + CASE fee_mode WHEN 'inside' THEN -price WHEN 'held' THEN price ELSE 0 END;
    funds[q][to_bucket] := funds[q][to_bucket] + rest;
    posting_of := posting_of || k;
    posting_place := posting_place || q;
    posting_bucket := posting_bucket || to_bucket;
    posting_delta := posting_delta || rest;
    posting_after := posting_after || funds[q][to_bucket];
    is_changed[q] := true;
  END IF;
  IF left_over > 0 THEN
    funds[p][1] := funds[p][1] + left_over;
    posting_of := posting_of || k;
    posting_place := posting_place || p;
    posting_bucket := posting_bucket || 1;
    posting_delta := posting_delta || left_over;
    posting_after := posting_after || funds[p][1];
  END IF;
  IF price > 0 AND fee_mode <> 'held' THEN
    posting_of := posting_of || k;
    posting_bucket := posting_bucket || 1;
    posting_delta := posting_delta || price;
    IF collector_place IS NULL THEN
      fees_total := fees_total + price;
      posting_place := posting_place || 0;
      posting_after := posting_after || fees_total;
    ELSE
      funds[collector_place][1] := funds[collector_place][1] + price;
      is_changed[collector_place] := true;
      posting_place := posting_place || collector_place;
      posting_after := posting_after || funds[collector_place][1];
    END IF;
  END IF;
