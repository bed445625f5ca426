SELECT id, region, amount, status FROM orders WHERE paid AND region IN ('north', 'south')
SELECT o.id, c.name AS customer_name, p.title AS product FROM orders o JOIN customers c ON c.id = o.cust_id LEFT JOIN products p ON p.sku = o.sku
SELECT c.country, count(DISTINCT o.id) AS orders, sum(o.price * o.qty) AS revenue FROM customers c JOIN orders o ON o.cust_id = c.id GROUP BY c.country
SELECT date_trunc('month', created_at) AS month, count(*) AS n FROM orders GROUP BY date_trunc('month', created_at)
SELECT date_trunc('MONTH', order_date) AS month, sum(qty) AS qty FROM orders WHERE order_date IS NOT NULL GROUP BY 1
SELECT year(order_date) AS yr, quarter(order_date) AS qtr, avg(amount) AS avg_amount FROM orders WHERE id <> 9 GROUP BY year(order_date), quarter(order_date)
SELECT id, datediff(current_date(), order_date) > 365 AS is_old FROM orders WHERE order_date IS NOT NULL
SELECT id, date_add(order_date, 30) AS due, date_format(order_date, 'dd.MM.yyyy') AS shown FROM orders
SELECT name, months_between(DATE '2024-12-31', hired) AS tenure FROM staff WHERE hired IS NOT NULL
SELECT id, created_at, hour(created_at) AS h, dayofweek(created_at) AS dow, weekofyear(created_at) AS wk FROM orders
SELECT id, CASE WHEN dayofweek(order_date) IN (1, 7) THEN 'weekend' ELSE 'weekday' END AS day_type FROM orders
SELECT id, order_date + INTERVAL 1 MONTH AS next_month FROM orders
SELECT id, last_day(order_date) AS eom, add_months(order_date, -1) AS prev, trunc(order_date, 'YEAR') AS yr_start FROM orders
SELECT id, to_date(created_at) AS d, CAST(created_at AS date) AS d2 FROM orders
SELECT user_id, to_date(day) AS d FROM events WHERE day LIKE '____-__-__'
SELECT user_id, to_timestamp(day, 'yyyy-MM-dd') AS t FROM events WHERE length(day) = 10
SELECT name, CAST(birth AS date) AS born FROM customers WHERE id IN (1, 3)
SELECT name, try_cast(birth AS date) AS born FROM customers
SELECT id, unix_timestamp(created_at) AS epoch FROM orders
SELECT id, from_unixtime(units) AS at FROM orders WHERE units BETWEEN 0 AND 2000000000
SELECT upper(name) AS name, lower(email) AS email, initcap(name) AS nice FROM customers
SELECT id, trim(note) AS note, length(trim(note)) AS len FROM orders WHERE note IS NOT NULL
SELECT id, concat(region, '-', sku) AS k, concat_ws('/', region, sku, status) AS path FROM orders
SELECT id, region || ':' || coalesce(note, '') AS label FROM orders
SELECT id, substring(sku, 1, 3) AS pre, left(sku, 1) AS l, right(sku, 2) AS r FROM orders
SELECT sku, split(sku, '-')[0] AS family, split_part(sku, '-', 2) AS rest FROM products
SELECT sku, regexp_extract(sku, '^([A-Z])(\\d+)', 2) AS digits FROM products
SELECT email, substring_index(email, '@', -1) AS domain FROM customers WHERE email IS NOT NULL
SELECT name, replace(name, 'n', 'm') AS alt, translate(name, 'ab', 'xy') AS tr FROM staff
SELECT title, instr(title, 'a') AS pos, locate('r', title) AS loc FROM products
SELECT lpad(id, 6, '0') AS padded, rpad(name, 8, '.') AS dotted FROM customers
SELECT name FROM customers WHERE name LIKE 'A%' OR email ILIKE '%shop%'
SELECT sku FROM products WHERE sku RLIKE '^[A-Z][0-9]+$'
SELECT id, CASE WHEN amount >= 1000 THEN 'L' WHEN amount >= 10 THEN 'M' ELSE 'S' END AS size FROM orders
SELECT id, CASE status WHEN 'open' THEN 1 WHEN 'new' THEN 2 ELSE 0 END AS status_no FROM orders
SELECT id, if(qty > 5, 'bulk', 'single') AS kind, nvl(note, '-') AS note FROM orders
SELECT id, coalesce(qty, 0) * coalesce(price, 0) AS total FROM orders
SELECT id, nullif(region, '') AS region, ifnull(qty, 0) AS qty FROM orders
SELECT id, nvl2(cust_id, 'known', 'anonymous') AS who FROM orders
SELECT id, greatest(qty, 1) AS q, least(price, 50) AS capped FROM orders WHERE qty IS NOT NULL
SELECT region, sum(CASE WHEN status = 'open' THEN 1 ELSE 0 END) AS open_n, sum(CASE WHEN status = 'closed' THEN 1 ELSE 0 END) AS closed_n FROM orders GROUP BY region
SELECT region, count(*) FILTER (WHERE status = 'open') AS open_n, sum(qty) FILTER (WHERE paid) AS paid_qty FROM orders GROUP BY region
SELECT dept, count_if(rating > 3) AS good, max_by(name, salary) AS top_earner FROM staff WHERE salary IS NOT NULL GROUP BY dept
SELECT dept, round(avg(salary), 2) AS avg_salary, stddev(rating) AS sd FROM staff GROUP BY dept HAVING count(*) > 1
SELECT region, round(sum(if(paid, 1, 0)) * 100.0 / count(*), 1) AS pct_paid FROM orders GROUP BY region
SELECT region, sum(qty) AS q, sum(qty) * 1.0 / sum(sum(qty)) OVER () AS share FROM orders WHERE qty IS NOT NULL GROUP BY region
SELECT id, price, round(price * 100 / sum(price) OVER (PARTITION BY region), 2) AS pct FROM orders WHERE price > 0
SELECT dept, percentile_approx(rating, 0.5) AS med, percentile(rating, 0.9) AS p90 FROM staff GROUP BY dept
SELECT country, collect_list(name) AS names FROM customers WHERE id IN (2, 3) GROUP BY country
SELECT dept, array_join(sort_array(collect_set(name)), ', ') AS people FROM staff GROUP BY dept
SELECT approx_count_distinct(cust_id) AS buyers, count(DISTINCT region) AS regions FROM orders
SELECT region, status, sum(qty) AS q FROM orders GROUP BY ROLLUP (region, status)
SELECT country, tier, count(*) AS n, grouping(country) AS g1 FROM customers GROUP BY CUBE (country, tier)
SELECT country, tier, sum(credit) AS c FROM customers GROUP BY GROUPING SETS ((country, tier), (tier), ())
SELECT category, active, sum(stock) AS s, grouping_id(category, active) AS gid FROM products GROUP BY ROLLUP (category, active)
SELECT id, row_number() OVER (PARTITION BY region ORDER BY amount DESC, id) AS rn FROM orders
SELECT id, name, dept, dense_rank() OVER (PARTITION BY dept ORDER BY salary DESC NULLS LAST) AS dr FROM staff
SELECT * FROM (SELECT o.*, row_number() OVER (PARTITION BY cust_id ORDER BY created_at DESC) AS rn FROM orders o WHERE cust_id IS NOT NULL) WHERE rn = 1
SELECT id, amount - lag(amount) OVER (PARTITION BY cust_id ORDER BY id) AS change FROM orders WHERE cust_id IS NOT NULL AND id < 9
SELECT id, lead(order_date, 1) OVER (PARTITION BY cust_id ORDER BY order_date, id) AS next_order FROM orders
SELECT id, lag(status, 1, 'none') OVER (PARTITION BY cust_id ORDER BY id) AS prev_status FROM orders
SELECT id, sum(qty) OVER (PARTITION BY region ORDER BY id) AS cum_qty, avg(qty) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS mov_avg FROM orders
SELECT id, first_value(sku) OVER w AS f, last_value(sku) OVER w AS l FROM orders WINDOW w AS (PARTITION BY region ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
SELECT name, salary, ntile(3) OVER (ORDER BY salary DESC, id) AS tertile, percent_rank() OVER (ORDER BY salary, id) AS pr FROM staff
SELECT name, cume_dist() OVER (PARTITION BY dept ORDER BY rating) AS cd FROM staff WHERE rating IS NOT NULL
SELECT id, amount FROM orders ORDER BY amount DESC, id LIMIT 3
SELECT name, credit FROM customers WHERE credit IS NOT NULL ORDER BY credit DESC LIMIT 2
SELECT sku, stock FROM products ORDER BY stock NULLS FIRST, sku LIMIT 4
SELECT region, total FROM (SELECT region, sum(price) AS total FROM orders GROUP BY region) t ORDER BY total DESC LIMIT 1
WITH monthly AS (SELECT date_format(order_date, 'yyyy-MM') AS ym, sum(price) AS rev FROM orders WHERE order_date IS NOT NULL GROUP BY date_format(order_date, 'yyyy-MM')) SELECT ym, rev, lag(rev) OVER (ORDER BY ym) AS prev FROM monthly
WITH big AS (SELECT * FROM orders WHERE price > 10), buyers AS (SELECT DISTINCT cust_id FROM big) SELECT c.id, c.name FROM customers c JOIN buyers b ON b.cust_id = c.id
WITH RECURSIVE chain(id, name, lvl) AS (SELECT id, name, 0 FROM staff WHERE manager_id IS NULL UNION ALL SELECT s.id, s.name, c.lvl + 1 FROM staff s JOIN chain c ON s.manager_id = c.id) SELECT * FROM chain
WITH s AS (SELECT user_id, ts, CASE WHEN unix_timestamp(ts) - unix_timestamp(lag(ts) OVER (PARTITION BY user_id ORDER BY ts)) > 1800 THEN 1 ELSE 0 END AS new_session FROM events WHERE user_id IS NOT NULL AND ts IS NOT NULL) SELECT user_id, ts, sum(new_session) OVER (PARTITION BY user_id ORDER BY ts) AS session_no FROM s
SELECT user_id, count(*) AS events, min(ts) AS first_seen, max(ts) AS last_seen FROM events GROUP BY user_id
SELECT user_id, datediff(max(ts), min(ts)) AS active_days FROM events WHERE user_id IS NOT NULL GROUP BY user_id
SELECT explode(sequence(DATE '2024-01-01', DATE '2024-01-07', INTERVAL 1 DAY)) AS d
SELECT d.d, count(o.id) AS n FROM (SELECT explode(sequence(to_date('2024-02-25'), to_date('2024-03-01'))) AS d) d LEFT JOIN orders o ON o.order_date = d.d GROUP BY d.d
SELECT id, explode(tags) AS tag FROM orders
SELECT o.id, t.tag FROM orders o LATERAL VIEW explode(tags) t AS tag
SELECT o.id, t.pos, t.col FROM orders o LATERAL VIEW OUTER posexplode(o.tags) t AS pos, col
SELECT id, k, v FROM orders LATERAL VIEW explode(attrs) AS k, v
SELECT e.user_id, i.sku, i.qty FROM events e LATERAL VIEW inline(items) i AS sku, qty
SELECT user_id, it.sku, it.qty FROM events LATERAL VIEW explode(items) x AS it WHERE it.qty > 0
SELECT id, size(tags) AS n, tags[0] AS first_tag, array_contains(tags, 'new') AS is_new FROM orders WHERE size(tags) > 0
SELECT id, array_distinct(tags) AS tags, cardinality(attrs) AS n FROM orders WHERE tags IS NOT NULL AND attrs IS NOT NULL
SELECT id, filter(tags, t -> t <> 'old') AS fresh, transform(tags, t -> upper(t)) AS up FROM orders
SELECT id, exists(tags, t -> t = 'big') AS is_big FROM orders
SELECT id, attrs['color'] AS color, element_at(attrs, 'size') AS size FROM orders
SELECT id, map_keys(attrs) AS ks, map_values(attrs) AS vs FROM orders WHERE id IN (1, 4)
SELECT id, ship.city, ship.zip AS zip FROM orders WHERE ship.city = 'Köln'
SELECT id, struct(region, status) AS s, named_struct('a', qty, 'b', price) AS ns FROM orders
SELECT user_id, aggregate(items, 0, (acc, x) -> acc + coalesce(x.qty, 0)) AS total_qty FROM events WHERE items IS NOT NULL
SELECT id, get_json_object(note, '$.a') AS a FROM orders WHERE note LIKE '{%}'
SELECT id, from_json(note, 'a INT').a AS a FROM orders WHERE note LIKE '{%}'
SELECT id, to_json(ship) AS j FROM orders WHERE ship IS NOT NULL
SELECT id, CAST(price AS int) AS p, CAST(qty AS string) AS q, CAST(amount AS decimal(12,2)) AS a FROM orders WHERE id < 9
SELECT id, qty::double AS q, price::string AS p FROM orders
SELECT sku, CAST(list_price AS decimal(10,1)) AS lp, CAST(weight AS float) AS w FROM products
SELECT sku, try_cast(sku AS int) AS n FROM products
SELECT sku, list_price * 1.19 AS gross, round(list_price * 1.19, 2) AS rounded FROM products
SELECT sku, list_price / 3 AS third, stock / 2 AS half, stock % 3 AS rest, stock DIV 2 AS idiv FROM products
SELECT id, ceil(price) AS up, floor(price) AS down, abs(price) AS a, sign(price) AS s FROM orders
SELECT id, bround(price, 1) AS b, round(amount, 1) AS r FROM orders WHERE id <> 9
SELECT id, try_divide(amount, qty) AS unit_price FROM orders
SELECT id, amount / nullif(qty, 0) AS unit_price FROM orders
SELECT cust_id, avg(price) AS avg_price, avg(qty) AS avg_qty FROM orders GROUP BY cust_id
SELECT pow(rating, 2) AS sq, sqrt(abs(rating)) AS rt, exp(0) AS one, ln(salary) AS l FROM staff WHERE salary > 0
SELECT name FROM customers UNION SELECT name FROM staff
SELECT id, 'order' AS src, CAST(price AS decimal(12,4)) AS v FROM orders UNION ALL SELECT id, 'customer', credit FROM customers
SELECT cust_id FROM orders EXCEPT SELECT id FROM customers
SELECT id FROM customers INTERSECT SELECT cust_id FROM orders
SELECT sku FROM products MINUS SELECT sku FROM orders
SELECT c.id, c.name FROM customers c LEFT ANTI JOIN orders o ON o.cust_id = c.id
SELECT c.id FROM customers c LEFT SEMI JOIN orders o ON o.cust_id = c.id AND o.amount > 10
SELECT id, name FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.cust_id = c.id AND o.status = 'new')
SELECT id FROM customers WHERE id NOT IN (SELECT cust_id FROM orders WHERE cust_id IS NOT NULL)
SELECT id, amount FROM orders WHERE amount > (SELECT avg(amount) FROM orders WHERE id < 9)
SELECT c.name, (SELECT max(o.order_date) FROM orders o WHERE o.cust_id = c.id) AS last_order FROM customers c
SELECT coalesce(o.sku, p.sku) AS sku, o.n, p.stock FROM (SELECT sku, count(*) AS n FROM orders GROUP BY sku) o FULL OUTER JOIN products p ON o.sku = p.sku
SELECT a.name AS a, b.name AS b FROM staff a CROSS JOIN staff b WHERE a.id < b.id AND a.dept = b.dept
SELECT e.name, m.name AS manager, m.salary - e.salary AS diff FROM staff e LEFT JOIN staff m ON e.manager_id = m.id
SELECT t.band, t.lo, p.sku FROM VALUES ('low', 0, 10), ('high', 10, 1000) AS t(band, lo, hi) JOIN products p ON p.list_price >= t.lo AND p.list_price < t.hi
SELECT * FROM (SELECT region, status, qty FROM orders) PIVOT (sum(qty) FOR status IN ('open' AS open, 'closed' AS closed))
SELECT DISTINCT trim(status) AS status, code FROM orders WHERE code IS NOT NULL
SELECT id FROM orders WHERE code = 'A1' AND status <> 'closed'
SELECT id, order_date FROM orders WHERE order_date BETWEEN '2024-01-01' AND '2024-06-30'
SELECT id FROM orders WHERE created_at >= TIMESTAMP '2024-01-01 00:00:00' AND created_at < DATE '2024-03-01'
SELECT cust_id, bool_or(paid) AS any_paid, every(qty > 0) AS all_positive FROM orders GROUP BY cust_id
SELECT name, coalesce(salary, 0) / 12 AS monthly, round(salary / 12, 2) AS rounded FROM staff
SELECT date_format(ts, 'EEEE') AS weekday, date_format(ts, 'HH:mm') AS hm, count(*) AS n FROM events WHERE ts IS NOT NULL GROUP BY 1, 2
