-- Which items state nothing, by their place, and why? Those without a letter or a digit of any script, questions, and
-- of what was said in a conversation (spoken) small talk, requests and courtesies of any language. Pure.
create or replace function loci_internal.items_that_state_nothing(p_items jsonb) returns jsonb
language sql immutable parallel safe
as $$
    select coalesce(jsonb_object_agg(i.place - 1, w.reason), '{}')
    from jsonb_array_elements(p_items) with ordinality i(value, place)
    cross join (select loci_internal.courtesies(p_items) as places) c
    cross join lateral (select case
        when i.value ->> 'content' !~ '[[:alnum:]]' then 'it has no letter and no digit, and states nothing'
        when loci_internal.is_question(i.value ->> 'content') then 'it is a question and states nothing'
        when i.value ? 'spoken' and loci_internal.is_small_talk(i.value ->> 'content')
            or i.place - 1 = any (c.places)
            then 'it is small talk, or asks for something, and states nothing' end as reason) w
    where w.reason is not null
$$;
comment on function loci_internal.items_that_state_nothing(jsonb) is
    'Why items state nothing, by their place: marks alone, questions, small talk, requests.';

-- Is a text a question, which states nothing? It ends with a question mark, in any script, which Greek writes as a
-- semicolon and Armenian within a word; not where it only asks for assent (Bob likes tea, right?). Pure, inlines.
create or replace function loci_internal.is_question(p_text text) returns boolean
language sql immutable parallel safe
as $$
    select (p_text ~ '[?\uFF1F\u061F\u037E\u1367]["''\u201C\u201D\u2019\u00BB\u300D)\]]*\s*$'
            or p_text ~ '[\u0370-\u03FF\u1F00-\u1FFF];\s*$' or p_text ~ '[\u0531-\u0587]\u055E')
       and p_text !~* ',\s*(right|correct|ok|okay|oder|nicht wahr|stimmt''?s|gell)\s*\?\s*$'
$$;
comment on function loci_internal.is_question(text) is 'Whether a text is a question.';

-- Is a sentence of a conversation small talk (greetings, thanks, assent, what assistants say to be polite), or does it
-- ask for something (write me …, can you …, what is …)? English and German, whole sentences of at most 300 characters:
-- in doubt it is a fact, as is what is to be remembered, and a sentence that tells something beside. Pure.
create or replace function loci_internal.is_small_talk(p_text text) returns boolean
language plpgsql immutable parallel safe
as $$
declare
    v_said text;
    v_polite  constant text := '^((((hi|hello|hey|hiya|greetings|hallo|servus|moin|welcome|good (morning|afternoon|'
        'evening|night|day)|guten (morgen|tag|abend)|gute nacht)( (back|there|all|everyone|again|team|zusammen|'
        '[a-zäöüß]+))?)|(many |so many )?(thanks|thank you|thx|cheers|danke|dankeschön|vielen dank|besten dank)'
        '( (a lot|a million|so much|very much|again|everyone|sehr|schön|dir|ihnen|nochmals?|for (your|the|'
        'all the|all '
        'your) (help|reply|answer|time|info|information|update)))*|(you are|you''re) (very |most )?welcome|'
        'no problem|'
        'no worries|my pleasure|anytime|gerne?( geschehen)?|bitte( sehr| schön)?|kein problem|nichts zu danken|'
        '(good)?bye|bye bye|see you( soon| later| tomorrow)?|take care|have a (nice|good|great|lovely) (day|evening|'
        'weekend|one|time)|tschüss|ciao|bis (bald|später|morgen|dann)|schönen (tag|abend)( noch)?|auf wiedersehen|'
        'yes|yeah|yep|yup|no|nope|ok|okay|sure|sure thing|of course|certainly|absolutely|definitely|exactly|indeed|'
        'right|correct|true|alright|all right|fine|great|good|perfect|nice|cool|awesome|amazing|wonderful|excellent|'
        'fantastic|super|lol|haha+|hmm+|wow|oh|ah|aha|hm|well|please|got it|i see|i understand|understood|'
        '(that )?makes '
        'sense|sounds (good|great|fine)|noted|will do|go ahead|never ?mind|(that''s|that is) (right|correct|'
        'true|great|'
        'good|fine|nice|perfect|all|it)|interesting|how (nice|lovely|interesting|exciting)|ja|jep|nein|nee|'
        '(na )?klar|'
        'alles klar|genau|stimmt|richtig|gut|sehr gut|prima|toll|passt|schön|verstanden|verstehe|einverstanden|'
        'in ordnung)( (please|bitte|then|dann|so|too))?[,;:]? ?){1,4}$';
    v_offer   constant text := '^((sure|of course|certainly|absolutely|okay|ok|great|perfect|got it|thanks|thank you|'
        'klar|gerne?|natürlich|alright|no problem),? )*((i''m|i am|we''re|we are) (always )?(happy|glad|here|sorry|'
        'delighted|pleased) .*(help|assist|hear|inconvenience|confusion)\M.*|(please )?(feel free|don''t hesitate) '
        'to\M.*|(please )?let me know (if|when|what|how|whether)\M.*|(i )?hope (this|that|it) helps\M.*|(just )?(ask|'
        'tell me|say so) if\M.*|(i''ll|i will|let me|i can|i''d be happy to) (gladly |happily )?(help|'
        'keep that in mind|'
        'remember (that|this|it)|note (that|this|it)|make a note( of (that|this|it))?|look into (that|this|it)|check'
        '( that| this| it)?|do that|take a look|get right on it)( for you| then| now| down| with that)*|'
        'das merke ich '
        'mir|ich werde mir das merken|(ich )?hoffe,? das hilft\M.*|sag (mir )?(einfach )?bescheid\M.*)$';
    v_request constant text := '^((and|so|ok|okay|well|then|also|now|hey|hi|hello|und|also|dann|please|bitte),? )*'
        '((can|could|would|will) you\M|(what|who|why|where|how) (is|are|was|were|do|does|did|can|should|would|'
        'about|much|'
        'many|to)\M|(kannst|könntest|würdest) du\M|(können|könnten) sie\M|(was|wer|wo|wie|warum|wann) (ist|sind|'
        'war|waren|'
        'kann|soll|macht|geht|viel|viele)\M|(tell|show|give|help|send|teach|ask) (me|us)\M|(explain|summari[sz]e|'
        'translate|rewrite|rephrase|draft|generate|compose|brainstorm|proofread)\M|(write|make|create|build|'
        'find|list|'
        'suggest|recommend|add|fix|check|run|read|look up|search|change|update|describe|compare|plan|prepare|'
        'book|open|'
        'try|stop) (me|us|it|this|that|these|those|a|an|the|some|my|your|for|up|with|again)\M|i (want|need) you to\M|'
        '(i''d|i would) like you to\M|let''s\M|lass uns\M|(erkläre?|zeige?|gib|sag|schreibe?|übersetze|hilf|erstelle|'
        'suche|finde) (mir|uns|bitte|eine?n?|das|die|den|es)\M).*$';
    v_telling constant text := '\m(remember|note that|keep in mind|merk|notiere|because|since|my name is|i am|'
        'i''m|i live|'
        'i work|i like|i prefer|i have|ich heiße|ich bin|ich wohne|ich mag|weil)\M';
begin
    if length(p_text) > 300 then
        return false;
    end if;
    v_said := replace(lower(p_text), U&'\2019', '''');
    v_said := btrim(regexp_replace(regexp_replace(v_said, '[^[:alnum:][:space:]'',:;-]+', ' ', 'g'), '\s+', ' ', 'g'),
                    ' ,;:-');
    return v_said = '' or v_said ~ v_polite or v_said ~ v_offer or v_said ~ v_request and v_said !~ v_telling;
end $$;
comment on function loci_internal.is_small_talk(text) is
    'Whether a sentence of a conversation is small talk or a request, and states nothing.';
